package wasmhost

import "encoding/binary"

// Header maps and host lists cross the border between guest and host in one
// form: the number of pairs, then the two lengths of each pair, then each name
// and value followed by a zero byte; numbers are 4 bytes little-endian
// (proxy-wasm-cpp-host, src/pairs_util.cc).

const wordSize = 4

func encodePairs(pairs [][2]string) []byte {
	size := wordSize
	for _, pair := range pairs {
		size += 2*wordSize + len(pair[0]) + 1 + len(pair[1]) + 1
	}
	out := make([]byte, 0, size)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(pairs)))
	for _, pair := range pairs {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(pair[0])))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(pair[1])))
	}
	for _, pair := range pairs {
		out = append(append(out, pair[0]...), 0)
		out = append(append(out, pair[1]...), 0)
	}
	return out
}

// decodePairs is as strict as the C++ host: anything malformed gives no pairs.
func decodePairs(data []byte) [][2]string {
	if len(data) < wordSize {
		return nil
	}
	count := int(binary.LittleEndian.Uint32(data))
	lengths := data[wordSize:]
	if count > len(lengths)/(2*wordSize) {
		return nil
	}
	texts := wordSize + count*2*wordSize
	pairs := make([][2]string, count)
	for i := range pairs {
		for part := range pairs[i] {
			length := int(binary.LittleEndian.Uint32(lengths[(2*i+part)*wordSize:]))
			end := texts + length
			if end >= len(data) || data[end] != 0 {
				return nil
			}
			pairs[i][part] = string(data[texts:end])
			texts = end + 1
		}
	}
	if texts != len(data) {
		return nil
	}
	return pairs
}
