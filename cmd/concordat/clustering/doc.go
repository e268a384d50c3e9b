// Package clustering has the commands of a site on several machines: "concordat cluster". The work itself is done in packages cluster and
// instance; this package has flags, messages and tables. Start with clustering.go.
package clustering
