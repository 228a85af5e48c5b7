package wasmhost

import "fmt"

// Status is what a host function answers to the guest, with the numbers of
// Proxy-Wasm ABI 0.2.100.
type Status uint32

// The statuses that a guest may meet.
const (
	StatusOK                  Status = 0
	StatusNotFound            Status = 1
	StatusBadArgument         Status = 2
	StatusSerializationFailed Status = 3
	StatusParseFailure        Status = 4
	StatusInvalidMemoryAccess Status = 6
	StatusEmpty               Status = 7
	StatusCasMismatch         Status = 8
	StatusInternalFailure     Status = 10
	StatusUnimplemented       Status = 12
)

// String gives the status' name, or its number when it has none.
func (s Status) String() string {
	switch s {
	case StatusOK:
		return "ok"
	case StatusNotFound:
		return "not found"
	case StatusBadArgument:
		return "bad argument"
	case StatusSerializationFailed:
		return "serialization failure"
	case StatusParseFailure:
		return "parse failure"
	case StatusInvalidMemoryAccess:
		return "invalid memory access"
	case StatusEmpty:
		return "empty"
	case StatusCasMismatch:
		return "cas mismatch"
	case StatusInternalFailure:
		return "internal failure"
	case StatusUnimplemented:
		return "unimplemented"
	default:
		return fmt.Sprintf("status %d", uint32(s))
	}
}
