// Package lti implements LTI 1.3 for learning platforms. It verifies their messages and calls their services. The pages that a launch
// opens are in package web/platforms. Start with lti.go, then read verify.go.
//
// [Client] is the main type: Verify verifies a message, and the other methods request tokens and files and send reports. [Keys] contains
// the site's own keys. The package implements the security framework (1EdTech Security Framework 1.0, sections 4 and 5), launches, Deep
// Linking 2.0 as far as an asset processor needs it, the Platform Notification Service 1.0, the Asset Processor with its asset and report
// services 1.0, and Dynamic Registration 1.0. The package stores only tokens and keys of platforms, in memory. The caller creates states
// and nonces and accepts each only once.
//
// Every service address from a platform must be at a host in the platform's registration, and private addresses are not contacted unless
// the options allow it.
package lti
