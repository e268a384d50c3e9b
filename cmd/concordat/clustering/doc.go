// Package clustering has the commands of a site on several machines: "concordat cluster". What they do to the cluster is in
// packages cluster and instance; here are flags, words and tables. Start with clustering.go.
package clustering
