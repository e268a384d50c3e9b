// Package deploy holds the scripts behind make, and the files by which a site is installed: units, containers, a chart. What
// the program does is not here. Open setup.sh and test.sh first; doc/deploy.md has the rest.
package deploy
