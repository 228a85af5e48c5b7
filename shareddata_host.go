package main

import (
	"errors"

	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm"
	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm/types"
)

// hostSharedData is the host's SharedData, as the CAS loop wants to see it.
type hostSharedData struct{}

func (hostSharedData) get(key string) (value []byte, cas uint32, err error) {
	value, cas, err = proxywasm.GetSharedData(key)
	if errors.Is(err, types.ErrorStatusNotFound) {
		return nil, 0, errKeyMissing
	}
	return value, cas, err
}

func (hostSharedData) set(key string, value []byte, cas uint32) error {
	err := proxywasm.SetSharedData(key, value, cas)
	if errors.Is(err, types.ErrorStatusCasMismatch) {
		return errCASMismatch
	}
	return err
}
