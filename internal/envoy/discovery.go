package envoy

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// discovery is the configuration that Envoy watches.
type discovery struct {
	folder    string
	listener  *watchedFile
	clusters  *watchedFile
	endpoints map[string]*edsCluster // by cluster
	name      string                 // of the listener
}

type edsCluster struct {
	file     *watchedFile
	resource string // what the cluster asks for
	stat     string // the cluster's name in statistics
}

// newDiscovery writes the first version of everything.
func newDiscovery(folder string, s Setup) (*discovery, error) {
	d := &discovery{folder: folder, endpoints: map[string]*edsCluster{}, name: s.Listener.GetName()}
	var clusters []proto.Message
	for i, c := range s.Clusters {
		c := proto.CloneOf(c)
		if c.GetType() == clusterv3.Cluster_EDS {
			if err := d.addEndpoints(filepath.Join(folder, "eds-"+strconv.Itoa(i)), c, s.Endpoints[c.GetName()]); err != nil {
				return nil, err
			}
		}
		clusters = append(clusters, c)
	}
	for name := range s.Endpoints {
		if d.endpoints[name] == nil {
			return nil, fmt.Errorf("envoy.Setup.Endpoints: %q is no EDS cluster of Setup.Clusters", name)
		}
	}
	var err error
	if d.clusters, err = newWatchedFile(filepath.Join(folder, "cds"), clusters...); err != nil {
		return nil, err
	}
	d.listener, err = newWatchedFile(filepath.Join(folder, "lds"), s.Listener)
	return d, err
}

// addEndpoints gives an EDS cluster its file and tells it where that is.
func (d *discovery) addEndpoints(folder string, c *clusterv3.Cluster, addresses []string) error {
	eds := &edsCluster{resource: c.GetName(), stat: statName(c)}
	if service := c.GetEdsClusterConfig().GetServiceName(); service != "" {
		eds.resource = service
	}
	assignment, err := eds.assignment(addresses)
	if err != nil {
		return err
	}
	if eds.file, err = newWatchedFile(folder, assignment); err != nil {
		return err
	}
	if c.EdsClusterConfig == nil {
		c.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{}
	}
	c.EdsClusterConfig.EdsConfig = eds.file.source()
	d.endpoints[c.GetName()] = eds
	return nil
}

// watchedFile is a file that Envoy reads again whenever something is renamed inside its folder.
// So it has the folder to itself.
type watchedFile struct {
	folder  string
	version int
}

func newWatchedFile(folder string, resources ...proto.Message) (*watchedFile, error) {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, fmt.Errorf("a folder that Envoy watches: %w", err)
	}
	f := &watchedFile{folder: folder}
	if err := f.write(resources...); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *watchedFile) path() string { return filepath.Join(f.folder, "current.json") }

// versionText is what Envoy reports as the version once it has taken what was written last.
func (f *watchedFile) versionText() string { return strconv.Itoa(f.version) }

func (f *watchedFile) source() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion: corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{PathConfigSource: &corev3.PathConfigSource{
			Path:             f.path(),
			WatchedDirectory: &corev3.WatchedDirectory{Path: f.folder},
		}},
	}
}

// write replaces the content at once, so that Envoy never reads half of it.
func (f *watchedFile) write(resources ...proto.Message) error {
	f.version++
	response := &discoveryv3.DiscoveryResponse{VersionInfo: f.versionText()}
	for _, r := range resources {
		resource, err := anypb.New(r)
		if err != nil {
			return fmt.Errorf("configuration for Envoy: %w", err)
		}
		response.Resources = append(response.Resources, resource)
	}
	json, err := protojson.Marshal(response)
	if err != nil {
		return fmt.Errorf("configuration for Envoy: %w", err)
	}
	next := filepath.Join(f.folder, "next.json")
	if err := os.WriteFile(next, json, 0o600); err != nil {
		return fmt.Errorf("configuration for Envoy: %w", err)
	}
	return os.Rename(next, f.path())
}
