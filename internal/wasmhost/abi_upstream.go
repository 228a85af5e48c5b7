package wasmhost

// The two functions that only Higress has. Their Envoy side is not public; what
// is known is proxy-wasm-cpp-host's src/exports.cc of Higress and what its
// plugins expect.

func upstreamFunctions() []hostFunction {
	return []hostFunction{
		{"proxy_get_upstream_hosts", []kind{outBytes}, getUpstreamHosts},
		{"proxy_set_upstream_override_host", []kind{text}, setUpstreamOverrideHost},
	}
}

// getUpstreamHosts gives the hosts of the route's cluster; none are no bytes.
func getUpstreamHosts(c *call) Status {
	stream := c.worker.currentStream()
	if stream == nil {
		return StatusBadArgument
	}
	stream.refreshRoute(stream.requestHeaders())
	hosts := stream.route.hosts()
	if len(hosts) == 0 {
		return c.give(0, nil)
	}
	pairs := make([][2]string, len(hosts))
	for i, host := range hosts {
		pairs[i] = host.pair()
	}
	return c.give(0, encodePairs(pairs))
}

// setUpstreamOverrideHost always answers StatusOK, also for a host that the
// cluster does not have.
func setUpstreamOverrideHost(c *call) Status {
	if stream := c.worker.currentStream(); stream != nil {
		stream.override = c.text(0)
	}
	return StatusOK
}
