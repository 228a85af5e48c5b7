package wasmhost

import (
	"encoding/binary"
	"net"
	"strconv"
	"strings"
)

// IntegerProperty encodes a number as properties carry it, 8 bytes
// little-endian. Durations and times are nanoseconds.
func IntegerProperty(value int64) []byte {
	return binary.LittleEndian.AppendUint64(nil, uint64(value))
}

// property finds a property for the current context. The order is Higress's
// (findValue in its source/extensions/common/wasm/context.cc): attributes and
// plain names first, then what a plugin has set itself. A name that a plugin
// has set is found by its first part only, so a path of several parts cannot be
// read back.
func (w *Worker) property(path []string) ([]byte, bool) {
	stream := w.currentStream()
	if stream != nil {
		joined := strings.Join(path, ".")
		if value, found := stream.given[joined]; found {
			return value, value != nil
		}
		if value, found := stream.attribute(path); found {
			return value, true
		}
	}
	if len(path) != 1 {
		return nil, false
	}
	switch path[0] {
	case "plugin_name":
		return []byte(w.plugin.options.PluginName), true
	case "plugin_root_id":
		return []byte(w.plugin.options.RootID), true
	case "plugin_vm_memory":
		return IntegerProperty(int64(w.MemoryBytes())), true
	}
	if stream == nil {
		return nil, false
	}
	value, found := stream.state[path[0]]
	return value, found
}

// attribute finds what the gateway knows about the stream.
func (s *Stream) attribute(path []string) ([]byte, bool) {
	if len(path) == 1 {
		return s.plainAttribute(path[0])
	}
	switch path[0] {
	case "request":
		return s.requestAttribute(path[1:])
	case "response":
		return s.responseAttribute(path[1:])
	case "upstream":
		return s.upstreamAttribute(path[1])
	case "xds":
		return s.plainAttribute(path[1])
	}
	return nil, false
}

func (s *Stream) plainAttribute(name string) ([]byte, bool) {
	switch name {
	case "route_name":
		s.refreshRoute(s.requestHeaders())
		return textProperty(s.route.Name)
	case "cluster_name":
		return textProperty(s.route.Cluster)
	}
	return nil, false
}

// requestAttribute needs the request headers for most names: like the header
// map they are there while a callback has left it open, and in the log phase.
func (s *Stream) requestAttribute(path []string) ([]byte, bool) {
	headers := s.request.headers
	open := s.request.headersOpen || s.logging
	if path[0] == "headers" && len(path) == 2 && open {
		return headerProperty(headers, path[1])
	}
	switch path[0] {
	case "time":
		return IntegerProperty(s.startedAt.UnixNano()), true
	case "size":
		return s.requestSize(open)
	case "total_size":
		return s.requestTotalSize(open)
	case "duration":
		return IntegerProperty(int64(s.duration)), s.logging
	}
	if !open {
		return nil, false
	}
	return requestHeaderAttribute(headers, path[0])
}

func (s *Stream) requestSize(open bool) ([]byte, bool) {
	length, found := s.request.headers.Get("content-length")
	if !open || !found {
		return IntegerProperty(int64(s.request.bytesIn)), true
	}
	size, err := strconv.ParseInt(length, 10, 64)
	return IntegerProperty(size), err == nil
}

// requestTotalSize counts the headers only where they can be read.
func (s *Stream) requestTotalSize(open bool) ([]byte, bool) {
	size := s.atClient().request.bytesIn
	if open {
		size += uint64(s.request.headers.byteSize())
	}
	return IntegerProperty(int64(size)), true
}

func requestHeaderAttribute(headers Headers, name string) ([]byte, bool) {
	path, _ := headers.Get(":path")
	beforeQuery, query, _ := strings.Cut(path, "?")
	switch name {
	case "path":
		return headerProperty(headers, ":path")
	case "url_path":
		return []byte(beforeQuery), true
	case "query":
		query, _, _ = strings.Cut(query, "#")
		return []byte(query), true
	case "host":
		return headerProperty(headers, ":authority")
	case "scheme":
		return headerProperty(headers, ":scheme")
	case "method":
		return headerProperty(headers, ":method")
	case "id":
		return headerProperty(headers, "x-request-id")
	case "referer":
		return headerProperty(headers, "referer")
	case "useragent":
		return headerProperty(headers, "user-agent")
	}
	return nil, false
}

// responseAttribute: the code is known when the headers have left for the
// client (chargeStats in Envoy's conn_manager_impl.cc), so not yet in the
// plugin's response headers callback.
func (s *Stream) responseAttribute(path []string) ([]byte, bool) {
	response, client := &s.response, &s.atClient().response
	if path[0] == "headers" && len(path) == 2 && (response.headersOpen || s.logging) {
		return headerProperty(response.headers, path[1])
	}
	switch path[0] {
	case "code":
		status, _ := client.headers.Get(":status")
		code, err := strconv.ParseInt(status, 10, 64)
		return IntegerProperty(code), err == nil && client.released
	case "code_details":
		return textProperty(s.details)
	case "flags":
		return IntegerProperty(int64(s.flags)), true
	case "size":
		return IntegerProperty(int64(client.bytesOut)), true
	case "total_size":
		return s.responseTotalSize()
	}
	return nil, false
}

// responseTotalSize counts headers and trailers only where they can be read.
func (s *Stream) responseTotalSize() ([]byte, bool) {
	response, size := &s.response, s.atClient().response.bytesOut
	if response.headersOpen || s.logging {
		size += uint64(response.headers.byteSize())
	}
	if response.trailersOpen || s.logging {
		size += uint64(response.trailers.byteSize())
	}
	return IntegerProperty(int64(size)), true
}

// upstreamAttribute: without an attempt the count is 0, and without a host
// there is no address (Envoy's source/extensions/filters/common/expr/context.cc).
func (s *Stream) upstreamAttribute(name string) ([]byte, bool) {
	switch name {
	case "address":
		return textProperty(s.upstream)
	case "port":
		_, port, err := net.SplitHostPort(s.upstream)
		number, parseErr := strconv.ParseInt(port, 10, 64)
		return IntegerProperty(number), err == nil && parseErr == nil
	case "request_attempt_count":
		return IntegerProperty(int64(s.attempt)), true
	case "num_endpoints":
		return IntegerProperty(int64(len(s.route.hosts()))), s.route.Hosts != nil
	}
	return nil, false
}

// textProperty: what is empty here is unknown to the gateway.
func textProperty(value string) ([]byte, bool) { return []byte(value), value != "" }

func headerProperty(headers Headers, name string) ([]byte, bool) {
	value, found := headers.Get(name)
	return []byte(value), found
}
