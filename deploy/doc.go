// Package deploy contains the scripts that make runs, and the files for installing a site: units, container files and charts. The program
// itself is elsewhere. Open setup.sh and test.sh first; doc/deploy.md describes the rest.
package deploy
