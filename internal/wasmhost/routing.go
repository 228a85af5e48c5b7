package wasmhost

const (
	statusNotFound = 404
	detailsNoRoute = "route_not_found"
)

// routing is the route cache of one request. A filter that changes a request
// header clears it, unless that filter has set clear_route_cache to off. What is
// cleared is matched again, by the headers of that moment, when somebody asks
// for the route: the router, the property route_name, or the cluster's hosts.
// The property cluster_name does not ask; it shows the route matched last
// (clearRouteCache in Envoy's conn_manager_impl.cc, and ROUTE_NAME and
// CLUSTER_NAME in findValue of Higress's context.cc). Once the router has the
// request, all of them stay with the route that it has gone by.
type routing struct {
	table   RouteTable
	route   Route
	routed  bool // there is a route
	cleared bool // it is to be matched at the next need
	pinned  bool // the router has taken the request: nothing moves it any more
}

func (r *routing) clearRoute() { r.cleared = true }

func (r *routing) refreshRoute(request Headers) {
	if !r.cleared || r.pinned {
		return
	}
	r.cleared = false
	r.route, r.routed = r.table(request)
	if !r.routed {
		r.route = Route{}
	}
}

// Route gives the route that was matched last, and whether there was one.
func (r *routing) Route() (route Route, found bool) { return r.route, r.routed }
