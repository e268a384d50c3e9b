package program

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"concordat/instance"
	"concordat/instance/config"
)

// TestDoctorNamesPanics: doctor warns of panics counted by the serving process, and states their number and where to look.
func TestDoctorNamesPanics(t *testing.T) {
	var d doctor
	d.panics(&instance.Status{})
	if len(d.findings) != 0 {
		t.Errorf("without a panic: %v", d.findings)
	}
	d.panics(&instance.Status{Panics: 2, Panicked: time.Now()})
	if len(d.findings) != 1 || d.findings[0].State != findingWarning ||
		!strings.HasPrefix(d.findings[0].Detail, "2 panics in requests, checks, additions, batches or fingerprint sets") {
		t.Errorf("after two: %v", d.findings)
	}
}

// TestDoctorMissesProxies: doctor warns if the site is behind a proxy on its own machine that the configuration does not name.
func TestDoctorMissesProxies(t *testing.T) {
	for name, c := range map[string]struct {
		listen, url, proxies string
		warned               bool
	}{
		"a proxy that is not named":  {"127.0.0.1:8420", "https://check.example.edu", "", true},
		"another name of the same":   {"localhost:8420", "https://check.example.edu", "", true},
		"a proxy that is named":      {"127.0.0.1:8420", "https://check.example.edu", "127.0.0.1", false},
		"this machine alone":         {"127.0.0.1:8420", "http://127.0.0.1:8420", "", false},
		"a proxy somewhere else":     {"0.0.0.0:8420", "https://check.example.edu", "", false},
		"a proxy at another address": {"[::1]:8420", "https://check.example.edu", "", true},
	} {
		var conf config.Config
		conf.Serve.Listen, conf.Serve.URL = c.listen, c.url
		if c.proxies != "" {
			conf.People.Proxies = []netip.Prefix{netip.MustParsePrefix(c.proxies + "/32")}
		}
		var d doctor
		d.proxies(&conf)
		if warned := len(d.findings) == 1 && d.findings[0].Check == "proxies" && d.findings[0].State == findingWarning; warned != c.warned {
			t.Errorf("%s: %v", name, d.findings)
		}
	}
}
