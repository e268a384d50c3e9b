// Package platforms makes the site a tool of learning platforms (LTI 1.3). It handles launches, pages shown in frames on platforms, and
// notices about submitted files, and it checks those files and reports the results in the background. Package web/lti implements the
// protocol. Start with platforms.go; Tool is the main type.
package platforms
