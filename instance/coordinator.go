package instance

import (
	"cmp"
	"context"
	"net/url"
	"strings"
	"time"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/local"
	"concordat/cluster/zk"
	"concordat/instance/config"
)

// Observe begins a session with the coordinator that only observes.
func Observe(ctx context.Context, c *config.Config) (coord.Session, error) {
	session, _, err := dial(ctx, c, zk.Options{})
	return session, err
}

// Found is like Observe, but the session can create the site's cluster, for indexes with the scheme.
func Found(ctx context.Context, c *config.Config, scheme concordat.Scheme) (coord.Founder, error) {
	_, founder, err := dial(ctx, c, zk.Options{Scheme: string(scheme), Found: true})
	return founder, err
}

// dial begins a session with the coordinator at the configured address, and returns it as a node's and as a founder's. Of as, it uses the
// node with its scheme and identity file, and whether the session can create the site's root. An observer has no scheme, since it might
// be about to change it.
func dial(ctx context.Context, c *config.Config, as zk.Options) (coord.Session, coord.Founder, error) {
	address := c.Cluster.Coordinator
	switch scheme, _, _ := strings.Cut(address, "://"); scheme {
	case "http":
		s, err := local.Dial(ctx, strings.TrimSuffix(address, "/"), cmp.Or(as.Node, "operator"))
		return s, s, err
	case "zk":
		options, err := ZookeeperAddress(address)
		if err != nil {
			return nil, nil, err
		}
		options.Site, options.Node, options.Scheme, options.Identity, options.Found = c.Site.ID, as.Node, as.Scheme, as.Identity, as.Found
		s, err := zk.Open(ctx, options)
		return s, s, err
	}
	return nil, nil, Usagef("cluster.coordinator: invalid address %q; want zk://HOST:PORT,HOST:PORT/ROOT or http://host:port", address)
}

// ZookeeperAddress parses zk://HOST:PORT,HOST:PORT/ROOT followed by parameters after a question mark. The parameters account, ca,
// certificate and key are files for the account and for TLS; tls=yes alone selects the system's authorities. The parameter timeout is the
// session timeout, for example 10s.
func ZookeeperAddress(address string) (o zk.Options, err error) {
	place, query, _ := strings.Cut(strings.TrimPrefix(address, "zk://"), "?") // an address with several hosts is not a URL
	servers, root, _ := strings.Cut(place, "/")
	if o.Servers = strings.Split(servers, ","); root != "" {
		o.Root = "/" + strings.TrimSuffix(root, "/")
	}
	q, err := url.ParseQuery(query)
	if err != nil {
		return o, Usagef("cluster.coordinator: %w", err)
	}
	if t := q.Get("timeout"); t != "" {
		if o.Timeout, err = time.ParseDuration(t); err != nil {
			return o, Usagef("cluster.coordinator: invalid timeout: %w", err)
		}
	}
	if o.Account, err = zk.ReadAccount(q.Get("account")); err != nil {
		return o, Usage(err)
	}
	if q.Get("tls") == "yes" || q.Get("ca") != "" || q.Get("certificate") != "" {
		if o.TLS, err = zk.ReadTLS(q.Get("ca"), q.Get("certificate"), q.Get("key")); err != nil {
			return o, Usage(err)
		}
	}
	return o, nil
}

// CoordinatorFiles are the parameters of a coordinator's address that contain file names; see ZookeeperAddress.
var CoordinatorFiles = []string{"account", "ca", "certificate", "key"}

// CoordinatorFile is the prefix for names of copies of these files.
const CoordinatorFile = "zookeeper-"

// FilesOfCoordinator returns the files in the address, keyed by the names of their copies.
func FilesOfCoordinator(address string) map[string]string {
	out := map[string]string{}
	_, query, _ := strings.Cut(address, "?")
	q, err := url.ParseQuery(query)
	if err != nil {
		return out
	}
	for _, k := range CoordinatorFiles {
		if path := q.Get(k); path != "" {
			out[CoordinatorFile+k] = path
		}
	}
	return out
}
