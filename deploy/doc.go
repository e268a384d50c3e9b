// Package deploy holds the scripts behind make, and the files for installing a site: units, containers, a chart. The program
// itself is elsewhere. Open setup.sh and test.sh first; doc/deploy.md describes the rest.
package deploy
