// Package clustering implements "concordat cluster", the commands for a site with several machines. The packages cluster and instance do
// the actual work; this package contains flags, messages and tables. Start with clustering.go.
package clustering
