package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/cluster"
	"concordat/instance"
	"concordat/instance/signing"
	"concordat/partners"
	"concordat/site/retain"
	"concordat/web"
)

const (
	// shutdownTime is how long calls in progress may take after the signal to stop.
	shutdownTime = 30 * time.Second
	headerTime   = 10 * time.Second
	idleTime     = 2 * time.Minute

	// maxConnections bounds client connections, however many descriptors are available.
	maxConnections = 8192
)

// Options configure how a site is served.
type Options struct {
	Log  io.Writer       // destination of the log
	Sign *signing.Source // signs reports and receipts
	// Started is called once with the addresses of the site. first is the path of the page that creates the first administrator; it is
	// empty if there is one already.
	Started func(st instance.Status, first string) error
	Tell    func(format string, args ...any) // reports what a check omits, and why
}

// Daemon is the serving process.
type Daemon struct {
	o       *instance.Instance
	options Options
	log     *slog.Logger
	started time.Time
	address string // address of the pages, when known
	monitor string // address of the metrics, when known; empty if not served
	// ready is set while checks are accepted, that is, from the start of the queue until the signal to stop.
	ready atomic.Bool
	// Partners is empty while the site does not listen for partners. runPartners starts listening; joinMu guards it.
	Partners    atomic.Pointer[partners.Server]
	joinMu      sync.Mutex
	runPartners func(*partners.Server, net.Listener)
	level       slog.LevelVar
	registry    *prometheus.Registry // runPartners starts listening; joinMu guards this.
	meters      *Meters
	eraser      *retain.Eraser
	meaning     *meaningControl
	hangup      chan os.Signal // SIGHUP
}

// listeners are the listeners of a site; each is nil if not configured.
type listeners struct{ control, public, partners, metrics net.Listener }

// listen opens the listeners; if it fails, none remains open.
func (s *Daemon) listen() (l listeners, err error) {
	c := s.o.Config
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	if l.control, err = cluster.Listen(filepath.Join(s.o.Dir, instance.SocketName)); err != nil {
		return l, err
	}
	if l.public, err = instance.Listen("serve.listen", "--listen", c.Serve.Listen); err != nil {
		return l, err
	}
	s.address = l.public.Addr().String()
	if s.Partners.Load() != nil {
		if l.partners, err = instance.Listen("federation.listen", "", c.Federation.Listen); err != nil {
			return l, err
		}
	}
	if c.Serve.Metrics != "" {
		if l.metrics, err = instance.Listen("serve.metrics", "", c.Serve.Metrics); err != nil {
			return l, err
		}
		s.monitor = l.metrics.Addr().String()
	}
	return l, nil
}

func (l listeners) close() error {
	var errs []error
	for _, one := range []net.Listener{l.control, l.public, l.partners, l.metrics} {
		if one != nil {
			errs = append(errs, one.Close())
		}
	}
	return errors.Join(errs...)
}

// Run serves the site, opened with instance.Serve, until ctx ends. It fails with instance.ErrRestart if the cluster's operator ordered a
// restart.
func Run(ctx context.Context, o *instance.Instance, options Options) error {
	s := New(o, options)
	s.level.Set(o.Config.Log.Level)
	s.log = slog.New(s.meters.log(logHandler(options.Log, o.Config.Log.Format, &s.level)))
	boundMemory(s.log)
	// From here on, SIGHUP does not end the process, although it is handled only when the site is being served.
	signal.Notify(s.hangup, syscall.SIGHUP)
	defer signal.Stop(s.hangup)
	made, err := o.Keys.Ensure(ctx)
	if err != nil {
		return fmt.Errorf("cannot create the site's keys: %w", err)
	}
	if made {
		s.log.Info("keys made", "site", o.Site.ID())
	}
	p, err := partners.Listen(ctx, o, s.partnerOptions())
	if err != nil {
		return err
	}
	s.Partners.Store(p)
	s.nameCard(ctx, true)
	l, err := s.listen()
	if err != nil {
		return errors.Join(err, s.closePartners())
	}
	s.tellSettled(o.Settled, nil)
	s.settleMirrors(ctx)
	d, err := s.OpenWebApp()
	var first string
	if err == nil {
		first, err = d.Pages.Accounts.FirstLink(ctx)
	}
	if err != nil {
		return errors.Join(err, l.close(), s.closePartners())
	}
	g, ctx := errgroup.WithContext(ctx)
	s.start(ctx, g, d, l)
	s.log.Info("serving", "site", o.Site.ID(), "listen", s.address)
	s.meaning.start()
	err = errors.Join(options.Started(s.status(), first), g.Wait(), s.resign(), s.closePartners())
	s.log.Info("stopped", "site", o.Site.ID(), "error", err)
	return err
}

// New returns the serving process of a site, which does not answer requests yet; Run calls New and then serves.
func New(o *instance.Instance, options Options) *Daemon {
	s := &Daemon{o: o, options: options, started: time.Now(), registry: prometheus.NewRegistry(), log: slog.New(slog.DiscardHandler),
		hangup: make(chan os.Signal, 1)}
	s.meters, s.meaning = NewMeters(s.registry), newMeaningControl(s)
	return s
}

// partnerOptions returns the options for communicating with partners.
func (s *Daemon) partnerOptions() partners.Options {
	return partners.Options{Log: s.log, Observe: s.meters.Asked, Answered: s.meters.Answered, Panicked: s.meters.panic,
		Tell: s.options.Tell}
}

func (s *Daemon) closePartners() error {
	if p := s.Partners.Load(); p != nil {
		return p.Close()
	}
	return nil
}

// start starts everything that a serving process does, until ctx ends.
func (s *Daemon) start(ctx context.Context, g *errgroup.Group, d *WebApp, l listeners) {
	s.runPartners = s.partnersRunner(ctx, g)
	if p := s.Partners.Load(); p != nil {
		s.runPartners(p, l.partners)
	}
	// A batch of documents can take long, so calls on the socket have no deadline.
	serveAt(ctx, g, l.control, &http.Server{Handler: s.Control(), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime})
	people := d.Pages.Server(s.public(d.Pages))
	people.RegisterOnShutdown(d.Pages.Streams.End)
	// Visitors get half of the descriptors; the rest are for the store, the index, files and partners.
	serveAt(ctx, g, d.Pages.Listener(l.public, min(instance.Descriptors()/2, maxConnections)), people)
	if l.metrics != nil {
		serveAt(ctx, g, l.metrics, &http.Server{Handler: s.metrics(d.queue), ReadHeaderTimeout: headerTime, ReadTimeout: headerTime,
			IdleTimeout: idleTime})
	}
	s.ready.Store(true)
	context.AfterFunc(ctx, func() { s.ready.Store(false) })
	g.Go(func() error { return d.run(ctx, s) })
	g.Go(func() error { return s.hooks().Run(ctx) })
	g.Go(func() error { return d.tool.Run(ctx) })
	g.Go(func() error { return d.inbox.Run(ctx) })
	g.Go(func() error { return s.tidy(ctx, s.eraser) })
	g.Go(func() error { return s.asLeader(ctx, TaskMaintenance, s.keepSite) })
	g.Go(func() error { return s.keepAuditHead(ctx) })
	g.Go(func() error { return s.meaning.run(ctx) })
	g.Go(func() error { return s.watchNodes(ctx) })
	g.Go(func() error { return s.watchSettings(ctx) })
	g.Go(func() error { return s.reload(ctx) })
	if s.o.Member != nil {
		g.Go(func() error { return s.keepCertificate(ctx) })
		g.Go(func() error {
			select {
			case err := <-s.o.Member.Failed:
				if errors.Is(err, instance.ErrRestart) {
					return err
				}
				return fmt.Errorf("this machine can no longer be a node: %w", err)
			case <-ctx.Done():
				return nil
			}
		})
	}
}

// headEvery is the interval at which the end of the audit is signed and stored next to the store.
const headEvery = time.Minute

func (s *Daemon) keepAuditHead(ctx context.Context) error {
	tick := time.NewTicker(headEvery)
	defer tick.Stop()
	for {
		if err := instance.KeepAuditHead(ctx, s.o.Dir, s.o.Store); err != nil && ctx.Err() == nil {
			s.log.Error("audit head", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// serveAt serves h on l until ctx ends, and then lets calls in progress finish.
func serveAt(ctx context.Context, g *errgroup.Group, l net.Listener, h *http.Server) {
	g.Go(func() error {
		if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer cancel()
		if err := h.Shutdown(late); err != nil {
			return errors.Join(fmt.Errorf("requests in progress were interrupted: %w", err), h.Close())
		}
		return nil
	})
}

// Control returns the handler for requests of the site's other processes.
func (s *Daemon) Control() http.Handler {
	m := http.NewServeMux()
	m.Handle("/cluster/", cluster.Handler(func(name string) (concordat.Index, bool) { return s.o.Index, name == "00" }))
	m.HandleFunc("POST /sweep", s.sweepNow)
	m.HandleFunc("POST /snapshot", s.snapshot)
	m.HandleFunc("POST /doctor", s.examineIndex)
	m.HandleFunc("POST /renew", s.renewNow)
	m.HandleFunc("POST /cluster", s.clusterState)
	m.HandleFunc("POST /salvage", s.salvage)
	m.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, s.status()) })
	return m
}

// headed is implemented by pages that set the headers of all answers at their address.
type headed interface {
	Headers(next http.Handler) http.Handler
}

var _ headed = (*web.Web)(nil)

// public returns the handler for people and the process supervisor.
func (s *Daemon) public(pages http.Handler) http.Handler {
	m := http.NewServeMux()
	m.Handle("/", s.meters.counted(pages, s.log))
	headers := func(h http.Handler) http.Handler { return h }
	if p, ok := pages.(headed); ok {
		headers = p.Headers
	}
	m.Handle("GET /healthz", headers(http.HandlerFunc(s.healthz)))
	m.Handle("GET /readyz", headers(http.HandlerFunc(s.readyz)))
	return m
}

// healthz returns 200 if the store answers.
func (s *Daemon) healthz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), instance.StatusTime)
	defer cancel()
	if _, err := s.o.Store.Catalogue.Libraries(ctx); err != nil {
		s.log.Error("health", "error", err)
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "the store does not answer"})
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (s *Daemon) status() instance.Status {
	st := s.o.Stats()
	panics, at := s.meters.panicsSoFar()
	return instance.Status{Panics: panics, Panicked: at.UTC(), Site: s.o.Site.ID(), Process: os.Getpid(), Started: s.started.UTC(),
		Listen: s.address, Metrics: s.monitor, Documents: st.Documents, Sentences: st.Sentences,
		Federation: s.Partners.Load().Status(context.Background())}
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // an error means that the caller has disconnected
}
