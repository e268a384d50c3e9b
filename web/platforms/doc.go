// Package platforms makes the site a tool of learning platforms (LTI 1.3): launches, the pages that platforms show in a frame,
// notices about submitted files, and the work that checks those files and reports the results. The protocol itself is in
// package web/lti. Open platforms.go first; Tool is the type to start from.
package platforms
