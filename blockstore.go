package main

import "time"

// blocklistKey is the one key in SharedData for all clusters; other plugins live in the same
// store, hence the prefix.
const blocklistKey = "endpoint-breaker.blocklist"

// blockStore is one worker's access to the blocklist.
type blockStore struct{ *sharedDocument[*blocklist] }

// newBlockStore takes the host's store, and whom to tell of each stored value that could not
// be believed.
func newBlockStore(data sharedData, onDamage func(error)) *blockStore {
	return &blockStore{newSharedDocument(data, blocklistKey, decodeBlocklist, onDamage)}
}

// seed is called at every plugin start. It puts a sound value into SharedData where there is
// none, and shortens the blocks of an earlier configuration to the longest that this one gives.
func (s *blockStore) seed(now instant, longest time.Duration) (conflicts int, err error) {
	return s.update(now, func(list *blocklist) (*blocklist, bool) {
		next := list.shortened(now, longest)
		return next, next != list || !s.sound
	})
}
