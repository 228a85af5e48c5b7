package main

import (
	"fmt"
	"unsafe"
)

// The SDK has no gRPC; plugins in other languages have.

//go:wasmimport env proxy_grpc_call
func grpcCall(service unsafe.Pointer, serviceSize uint32, name unsafe.Pointer, nameSize uint32,
	method unsafe.Pointer, methodSize uint32, metadata unsafe.Pointer, metadataSize uint32,
	request unsafe.Pointer, requestSize uint32, timeout uint32, token unsafe.Pointer) uint32

//go:wasmimport env proxy_grpc_stream
func grpcStream(service unsafe.Pointer, serviceSize uint32, name unsafe.Pointer, nameSize uint32,
	method unsafe.Pointer, methodSize uint32, metadata unsafe.Pointer, metadataSize uint32, token unsafe.Pointer) uint32

//go:wasmimport env proxy_grpc_send
func grpcSend(token uint32, message unsafe.Pointer, size, end uint32) uint32

//go:wasmimport env proxy_grpc_close
func grpcClose(token uint32) uint32

//go:wasmimport env proxy_grpc_cancel
func grpcCancel(token uint32) uint32

//go:wasmimport env proxy_get_status
func grpcStatus(code, message, size unsafe.Pointer) uint32

func grpc(service string) string {
	p, n := pointer(service)
	var token uint32
	code, size := uint32(99), uint32(99)
	var message *byte
	return fmt.Sprintf("call %s, stream %s, send %s, close %s, cancel %s, get-status %s %d",
		rawStatus(grpcCall(p, n, p, n, p, n, nil, 0, nil, 0, 100, unsafe.Pointer(&token))),
		rawStatus(grpcStream(p, n, p, n, p, n, nil, 0, unsafe.Pointer(&token))),
		rawStatus(grpcSend(1, p, n, 1)), rawStatus(grpcClose(1)), rawStatus(grpcCancel(1)),
		rawStatus(grpcStatus(unsafe.Pointer(&code), unsafe.Pointer(&message), unsafe.Pointer(&size))), code+size)
}

func grpcOpen(service string) string {
	p, n := pointer(service)
	var token uint32
	if status := grpcCall(p, n, p, n, p, n, nil, 0, nil, 0, 100, unsafe.Pointer(&token)); status != 0 {
		return rawStatus(status)
	}
	return fmt.Sprintf("token %d", token)
}

func grpcOpenStream(service string) string {
	p, n := pointer(service)
	var token uint32
	if status := grpcStream(p, n, p, n, p, n, nil, 0, unsafe.Pointer(&token)); status != 0 {
		return rawStatus(status)
	}
	return fmt.Sprintf("token %d", token)
}

//go:wasmexport proxy_on_grpc_close
func onGRPCClose(plugin, token, code uint32) {
	answered(fmt.Sprintf("grpc close context=%d token=%d code=%d", plugin, token, code))
}

func lastStatus() string {
	var code, size uint32
	var message *byte
	if status := grpcStatus(unsafe.Pointer(&code), unsafe.Pointer(&message), unsafe.Pointer(&size)); status != 0 {
		return rawStatus(status)
	}
	return fmt.Sprintf("%d %s", code, unsafe.String(message, size))
}
