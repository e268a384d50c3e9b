// Package platforms makes the site a tool of learning platforms (LTI 1.3): launches, the pages that platforms show in a frame, notices
// about submitted files, and the background work of checking those files and reporting the results. The protocol itself is in package
// web/lti. Open platforms.go first; Tool is the type to start from.
package platforms
