package config

// Cluster describes this machine's place in a site with several machines. On a site with one machine, Coordinator is empty.
type Cluster struct {
	Node        string // name of this machine, unique within the site
	Zone        string
	Listen      string // host and port for the other nodes
	Address     string // host and port at which other nodes reach it; by default, Listen
	Coordinator string // address; empty if the site has one machine
}

// Clustered reports whether the site has several machines.
func (c *Config) Clustered() bool { return c.Cluster.Coordinator != "" }

var clusterKeys = []Key{
	text("cluster.coordinator", "", restart, func(c *Config) *string { return &c.Cluster.Coordinator },
		"Coordinator of the site's machines: zk://host:port,host:port, with ?timeout=10s, account=FILE, ca=FILE, certificate=FILE, key=FILE joined by &, or http://host:port of concordat cluster coordinator. Empty: no cluster."),
	text("cluster.node", "", restart, func(c *Config) *string { return &c.Cluster.Node },
		"Name of this machine within the site: lower-case letters, digits, hyphen; at most 63."),
	text("cluster.zone", "", restart, func(c *Config) *string { return &c.Cluster.Zone },
		"Failure zone of this machine, such as a rack; copies of a shard are spread over zones."),
	address("cluster.listen", "", func(c *Config) *string { return &c.Cluster.Listen },
		"Address to listen on for the site's other machines."),
	address("cluster.address", "", func(c *Config) *string { return &c.Cluster.Address },
		"Address at which other machines reach this one. Empty: cluster.listen."),
}
