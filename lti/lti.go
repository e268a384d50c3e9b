// Package lti speaks LTI 1.3 with learning platforms.
package lti
