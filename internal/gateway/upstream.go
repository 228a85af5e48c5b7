package gateway

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
)

var errNoHealthyUpstream = errors.New("no healthy upstream")

// roundTrip chooses the host, and returns when its response headers are there.
func (x *exchange) roundTrip() (*http.Response, error) {
	var override string
	x.tell(func(s stream) { override = s.OverrideHost() })
	x.access.Host, x.access.Overridden = x.gateway.cluster.place(override)
	x.access.Placed = x.now()
	if x.access.Host == "" {
		return nil, errNoHealthyUpstream
	}
	// Known to the plugin as soon as the host is chosen, before there is a connection.
	x.tell(func(s stream) { s.SetUpstream(x.access.Host, 1) })
	request, err := x.upstreamRequest(x.access.Host)
	if err != nil {
		return nil, err
	}
	return x.gateway.transport.RoundTrip(request)
}

func (x *exchange) upstreamRequest(address string) (*http.Request, error) {
	pseudo, header := map[string]string(nil), http.Header(nil)
	x.tell(func(s stream) { pseudo, header = fromPlugin(s.RequestHeadersNow()) })
	target, err := url.ParseRequestURI(pseudo[":path"])
	if err != nil {
		return nil, fmt.Errorf("the plugin left a :path that is none: %w", err)
	}
	target.Scheme, target.Host = "http", address
	if len(header.Values("User-Agent")) == 0 {
		header["User-Agent"] = nil
	}
	request := (&http.Request{
		Method: pseudo[":method"], URL: target, Host: pseudo[":authority"], Header: header,
	}).WithContext(x.ctx)
	if x.body == nil {
		return request, nil
	}
	request.Body = x.body.reader
	request.Trailer = x.body.trailer
	request.ContentLength = -1
	if length, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64); err == nil {
		request.ContentLength = length
	}
	header.Del("Content-Length") // net/http writes its own
	return request, nil
}

// failure tells the details and flags of a request that got no response.
func failure(err error) (details string, flags uint64) {
	if errors.Is(err, errNoHealthyUpstream) {
		return detailsNoHealthyUpstream, flagNoHealthyUpstream
	}
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "dial" {
		return detailsConnectFailure, flagConnectFailure
	}
	return detailsResetBefore, flagUpstreamReset
}
