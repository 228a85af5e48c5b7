package main

import (
	"fmt"
	"unsafe"

	"github.com/higress-group/proxy-wasm-go-sdk/proxywasm"
)

// What the SDK hides: the status of a call, and functions that it has no name
// for.

//go:wasmimport env proxy_add_header_map_value
func rawAddHeader(which uint32, key unsafe.Pointer, keySize uint32, value unsafe.Pointer, valueSize uint32) uint32

//go:wasmimport env proxy_replace_header_map_value
func rawReplaceHeader(which uint32, key unsafe.Pointer, keySize uint32, value unsafe.Pointer, valueSize uint32) uint32

//go:wasmimport env proxy_remove_header_map_value
func rawRemoveHeader(which uint32, key unsafe.Pointer, keySize uint32) uint32

//go:wasmimport env proxy_get_header_map_value
func rawGetHeader(which uint32, key unsafe.Pointer, keySize uint32, value, valueSize unsafe.Pointer) uint32

//go:wasmimport env proxy_get_header_map_size
func rawHeadersSize(which uint32, size unsafe.Pointer) uint32

//go:wasmimport env proxy_get_buffer_status
func rawBufferStatus(which uint32, size, flags unsafe.Pointer) uint32

//go:wasmimport env proxy_set_buffer_bytes
func rawSetBuffer(which, start, length uint32, data unsafe.Pointer, size uint32) uint32

//go:wasmimport env proxy_define_metric
func rawDefineMetric(kind uint32, name unsafe.Pointer, size uint32, id unsafe.Pointer) uint32

//go:wasmimport env proxy_increment_metric
func incrementMetric(id uint32, offset int64) uint32

//go:wasmimport env proxy_record_metric
func recordMetric(id uint32, value uint64) uint32

//go:wasmimport env proxy_get_metric
func rawGetMetric(id uint32, value unsafe.Pointer) uint32

//go:wasmimport env proxy_continue_stream
func continueStream(which uint32) uint32

//go:wasmimport env proxy_close_stream
func closeStream(which uint32) uint32

//go:wasmimport env proxy_get_log_level
func rawLogLevel(level unsafe.Pointer) uint32

//go:wasmimport env proxy_log
func rawLog(level uint32, message unsafe.Pointer, size uint32) uint32

//go:wasmimport env proxy_get_current_time_nanoseconds
func rawTime(nanoseconds unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 clock_time_get
func clockTime(clock uint32, precision uint64, result unsafe.Pointer) uint32

var maps = map[string]uint32{
	"request": 0, "request-trailers": 1, "response": 2, "response-trailers": 3, "call": 6, "none": 99,
}

var bodies = map[string]uint32{"request": 0, "response": 1, "none": 99}

func pointer(text string) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.StringData(text)), uint32(len(text))
}

func rawStatus(status uint32) string {
	if status == 0 {
		return "ok"
	}
	return fmt.Sprintf("status %d", status)
}

func addHeader(which, key, value string) uint32 {
	k, kn := pointer(key)
	v, vn := pointer(value)
	return rawAddHeader(maps[which], k, kn, v, vn)
}

func replaceHeader(which, key, value string) uint32 {
	k, kn := pointer(key)
	v, vn := pointer(value)
	return rawReplaceHeader(maps[which], k, kn, v, vn)
}

func removeHeader(which, key string) uint32 {
	k, kn := pointer(key)
	return rawRemoveHeader(maps[which], k, kn)
}

func getHeader(which, key string) string {
	var value *byte
	var size uint32
	k, kn := pointer(key)
	if status := rawGetHeader(maps[which], k, kn, unsafe.Pointer(&value), unsafe.Pointer(&size)); status != 0 {
		return rawStatus(status)
	}
	return unsafe.String(value, size)
}

func getHeaders(which string) ([][2]string, error) {
	switch which {
	case "request":
		return proxywasm.GetHttpRequestHeaders()
	case "request-trailers":
		return proxywasm.GetHttpRequestTrailers()
	case "response":
		return proxywasm.GetHttpResponseHeaders()
	default:
		return proxywasm.GetHttpResponseTrailers()
	}
}

func headersSize(which string) string {
	var size uint32
	if status := rawHeadersSize(maps[which], unsafe.Pointer(&size)); status != 0 {
		return rawStatus(status)
	}
	return fmt.Sprint(size)
}

func getBody(which string, start, size int) string {
	if which == "request" {
		return result(proxywasm.GetHttpRequestBody(start, size))
	}
	return result(proxywasm.GetHttpResponseBody(start, size))
}

func bodySize(which string) string {
	var size, flags uint32
	if status := rawBufferStatus(bodies[which], unsafe.Pointer(&size), unsafe.Pointer(&flags)); status != 0 {
		return rawStatus(status)
	}
	return fmt.Sprint(size)
}

func setBody(which string, start, length int, data string) uint32 {
	p, n := pointer(data)
	return rawSetBuffer(bodies[which], uint32(start), uint32(length), p, n)
}

func changeBody(which, how, data string) string {
	type change func([]byte) error
	request := map[string]change{
		"append": proxywasm.AppendHttpRequestBody, "prepend": proxywasm.PrependHttpRequestBody, "replace": proxywasm.ReplaceHttpRequestBody,
	}
	response := map[string]change{
		"append": proxywasm.AppendHttpResponseBody, "prepend": proxywasm.PrependHttpResponseBody, "replace": proxywasm.ReplaceHttpResponseBody,
	}
	if which == "request" {
		return fail(request[how]([]byte(data)))
	}
	return fail(response[how]([]byte(data)))
}

var kinds = map[string]uint32{"counter": 0, "gauge": 1, "histogram": 2, "none": 9}

func defineMetric(kind, name string) string {
	var id uint32
	p, n := pointer(name)
	if status := rawDefineMetric(kinds[kind], p, n, unsafe.Pointer(&id)); status != 0 {
		return rawStatus(status)
	}
	ids[name] = id
	return fmt.Sprintf("id %d", id)
}

var ids = map[string]uint32{}

// id gives the id of a metric that was defined in this VM; an unknown name has
// an id that no host gives.
func id(name string) uint32 {
	if id, found := ids[name]; found {
		return id
	}
	return 4000
}

func getMetric(name string) string {
	var value uint64
	if status := rawGetMetric(id(name), unsafe.Pointer(&value)); status != 0 {
		return rawStatus(status)
	}
	return fmt.Sprint(value)
}

func logLevel() string {
	var level uint32
	if status := rawLogLevel(unsafe.Pointer(&level)); status != 0 {
		return rawStatus(status)
	}
	return fmt.Sprint(level)
}

func logRaw(level uint32, message string) uint32 {
	p, n := pointer(message)
	return rawLog(level, p, n)
}

func hostTime() string {
	var nanoseconds uint64
	if status := rawTime(unsafe.Pointer(&nanoseconds)); status != 0 {
		return rawStatus(status)
	}
	return fmt.Sprint(nanoseconds)
}

func monotonic() uint64 {
	var nanoseconds uint64
	clockTime(1, 1, unsafe.Pointer(&nanoseconds))
	return nanoseconds
}

// badPointer passes a pointer that lies outside of the memory.
func badPointer() uint32 {
	return rawLog(2, unsafe.Pointer(uintptr(0xfffffff0)), 64)
}
