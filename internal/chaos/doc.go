// Package chaos plays random traffic with everything mixed through the shipped plugin, in the
// embedded Higress under virtual time: retries and hedges, timeouts, slow uploads, streams,
// clients that leave, replies of the gateway's own. One host is truly slow, or none is, and
// [Run] tells who was blocked.
//
// The hosts, the router and the clients are modelled here, without a look at the plugin: a
// healthy host always answers within its part of every threshold and timeout, whatever the
// request as a whole takes. So a block of a healthy host is a mistake, for certain.
//
// Two things are left out because Envoy shows the plugin nothing to tell them by: a filter
// behind the plugin that holds a request for a while and lets it go on, and a hedged attempt
// that fails while the first one goes on (upstream.address stays that of the failed one).
package chaos
