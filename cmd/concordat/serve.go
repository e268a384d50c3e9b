package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/cluster"
	"concordat/cmd/internal/cli"
	"concordat/instance"
	"concordat/partners"
	"concordat/site"
	"concordat/web"
)

const (
	// shutdownTime is how long calls in progress may take after the signal to stop.
	shutdownTime = 30 * time.Second
	headerTime   = 10 * time.Second
	idleTime     = 2 * time.Minute

	// mostConnections bounds those of people and programs, however many descriptors there are.
	mostConnections = 8192
)

func (a *app) serveCommand() *cobra.Command {
	var listen, title string
	var noCreate bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the site until interrupted; the first time, create it",
		Long: `Where the folder of --data is empty or absent, serve first creates a site in it, as init does, with an
empty library, and prints a link that makes the first administrator. The site is an ordinary one: all
other commands, those of federations and clusters too, take it from there.

Serve shows the pages of the site and does the checks that are handed in there. It holds the index of the site open and answers on its listeners until it is interrupted; calls in
progress are finished first. Meanwhile the other commands work as ever: they reach the index through
the serving process. Only reindex needs the site for itself.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !noCreate {
				if err := a.createToServe(cmd.Context(), title); err != nil {
					return err
				}
			}
			return a.with(cmd.Context(), instance.Serve, func(o *instance.Instance) error {
				if o.Remote != nil {
					return fmt.Errorf("site %s: %w: it is served already", o.Dir, concordat.ErrLocked)
				}
				if listen != "" {
					o.Config.Serve.Listen = listen
					o.Flags = map[string]string{"serve.listen": "--listen"}
				}
				return a.serve(cmd.Context(), o)
			})
		},
	}
	c.Flags().StringVar(&listen, "listen", "", "address of the pages (default: configuration)")
	c.Flags().StringVar(&title, "title", "", "name for people of a site that is created")
	c.Flags().BoolVar(&a.supervised, "supervised", false, "a service manager starts the process again whenever it ends; known under systemd and in containers")
	c.Flags().BoolVar(&noCreate, "no-create", false, "fail where there is no site, instead of creating one")
	return c
}

// server is the serving process.
type server struct {
	o       *instance.Instance
	log     *slog.Logger
	started time.Time
	address string // of the pages, as it came to be
	monitor string // address of the metrics, as it came to be; empty: none
	// ready is set while checks are taken: from the start of the queue to the signal to stop.
	ready atomic.Bool
	// partners is nil where the site does not listen for them.
	partners *partners.Server
	level    slog.LevelVar
	registry *prometheus.Registry // of what is counted
	meters   *meters
	eraser   *site.Eraser
}

// listeners are the addresses at which a site answers. Those that are not wanted are nil.
type listeners struct{ control, public, partners, metrics net.Listener }

// listen opens them; on an error none stays open.
func (s *server) listen() (l listeners, err error) {
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
	if s.partners != nil {
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

// serve serves until ctx ends.
func (a *app) serve(ctx context.Context, o *instance.Instance) error {
	s := &server{o: o, started: time.Now(), registry: prometheus.NewRegistry()}
	s.meters = newMeters(s.registry)
	a.observe = s.meters.asked
	s.level.Set(o.Config.Log.Level)
	s.log = slog.New(s.meters.log(logHandler(a.Stderr, o.Config.Log.Format, &s.level)))
	boundMemory(s.log)
	var err error
	if s.partners, err = partners.Listen(ctx, o, partners.Options{Log: s.log, Observe: s.meters.asked, Answered: s.meters.answered, Tell: a.Warn}); err != nil {
		return err
	}
	l, err := s.listen()
	if err != nil {
		return errors.Join(err, s.closePartners())
	}
	s.tellSettled(o.Settled, nil)
	d, err := s.openDesk(a)
	var first string
	if err == nil {
		first, err = d.pages.FirstLink(ctx)
	}
	if err != nil {
		return errors.Join(err, l.close(), s.closePartners())
	}
	g, ctx := errgroup.WithContext(ctx)
	s.start(ctx, g, d, l)
	err = errors.Join(s.tell(a, first), g.Wait(), s.leaveDuties(), s.closePartners())
	s.log.Info("stopped", "site", o.ID(), "error", err)
	return err
}

func (s *server) closePartners() error {
	if s.partners == nil {
		return nil
	}
	return s.partners.Close()
}

// start begins all that a serving process does, until ctx ends.
func (s *server) start(ctx context.Context, g *errgroup.Group, d *desk, l listeners) {
	// A batch of documents may take long, so calls on the socket have no deadline of their own.
	serveAt(ctx, g, l.control, &http.Server{Handler: s.control(), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime})
	people := d.pages.Server(s.public(d.pages))
	people.RegisterOnShutdown(d.pages.EndStreams)
	// The other half of the descriptors is for the store, the index, files and partners.
	serveAt(ctx, g, d.pages.Listener(l.public, min(instance.Descriptors()/2, mostConnections)), people)
	if l.metrics != nil {
		serveAt(ctx, g, l.metrics, &http.Server{Handler: s.metrics(d.queue), ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, IdleTimeout: idleTime})
	}
	s.ready.Store(true)
	context.AfterFunc(ctx, func() { s.ready.Store(false) })
	g.Go(func() error { return d.run(ctx, s) })
	g.Go(func() error { return s.hooks().Run(ctx) })
	g.Go(func() error { return d.pages.RunLTI(ctx) })
	if s.partners != nil {
		s.partners.Run(ctx, g, l.partners, func(ctx context.Context, f func(context.Context) error) error { return s.onDuty(ctx, dutyKeeper, f) })
	}
	g.Go(func() error { return s.tidy(ctx, s.eraser) })
	g.Go(func() error { return s.onDuty(ctx, dutyKeeper, s.keepSite) })
	g.Go(func() error { return s.watchNodes(ctx) })
	g.Go(func() error { return s.watchSettings(ctx) })
	g.Go(func() error { return s.reload(ctx) })
	if s.o.Node != nil {
		g.Go(func() error { return s.keepCertificate(ctx) })
		g.Go(func() error {
			select {
			case err := <-s.o.Failed:
				if errors.Is(err, instance.ErrRestart) {
					return &cli.Exit{Code: cli.Restart, Err: err}
				}
				return fmt.Errorf("this machine cannot be a node any more: %w", err)
			case <-ctx.Done():
				return nil
			}
		})
	}
}

// tell says where the site is served. first is the path of the page that makes the first administrator; empty:
// there is one.
func (s *server) tell(a *app, first string) (err error) {
	if a.JSON {
		err = a.Line(s.status())
	} else {
		a.Say("serving site %s at http://%s/", s.o.ID(), s.address)
	}
	if first != "" { // a secret: it goes to the terminal and not to the log
		fmt.Fprintf(a.Stderr, "make the first administrator, within a day, at http://%s%s\n", s.address, first)
	}
	s.log.Info("serving", "site", s.o.ID(), "listen", s.address)
	return err
}

// serveAt serves h at l until ctx ends, and then lets calls in progress finish.
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
			return errors.Join(fmt.Errorf("calls were cut short: %w", err), h.Close())
		}
		return nil
	})
}

// control answers the other processes of the site.
func (s *server) control() http.Handler {
	m := http.NewServeMux()
	m.Handle("/cluster/", cluster.Handler(func(name string) (concordat.Index, bool) { return s.o.Index, name == "00" }))
	m.HandleFunc("POST /sweep", s.sweepNow)
	m.HandleFunc("POST /snapshot", s.snapshot)
	m.HandleFunc("POST /doctor", s.examineIndex)
	m.HandleFunc("POST /renew", s.renewNow)
	m.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, s.status()) })
	return m
}

// headed are pages that say which headers hold for every answer at their address.
type headed interface {
	Headers(next http.Handler) http.Handler
}

var _ headed = (*web.Web)(nil)

// public answers people, and whoever watches over the process.
func (s *server) public(pages http.Handler) http.Handler {
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

// healthz answers 200 while the store answers.
func (s *server) healthz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), instance.StatusTime)
	defer cancel()
	if _, err := s.o.Store.Libraries(ctx); err != nil {
		s.log.Error("health", "error", err)
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "the store does not answer"})
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (s *server) status() instance.Status {
	st := s.o.Stats()
	panics, at := s.meters.panicsSoFar()
	return instance.Status{Panics: panics, Panicked: at.UTC(), Site: s.o.ID(), Process: os.Getpid(), Started: s.started.UTC(), Listen: s.address, Metrics: s.monitor, Documents: st.Documents, Sentences: st.Sentences, Federation: s.partners.Status(context.Background())}
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // a caller that went away misses nothing
}

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Tell whether the site is being served", Args: cobra.NoArgs,
		Long: "Status prints what the serving process tells of itself, and exits with 1 if there is none.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := a.dir()
			if err != nil {
				return err
			}
			st, err := instance.Serving(cmd.Context(), dir)
			if err != nil {
				return fmt.Errorf("site %s is not being served: %w", dir, err)
			}
			if a.JSON {
				return a.Line(st)
			}
			a.Say("site %s is served by process %d since %s; http://%s/", st.Site, st.Process, st.Started.Local().Format(time.DateTime), st.Listen)
			a.Say("%d documents, %d sentences", st.Documents, st.Sentences)
			if f := st.Federation; f != nil {
				a.Say("partners are answered at %s", f.Listen)
				for _, line := range f.Words() {
					a.Say("%s", line)
				}
			}
			return nil
		},
	}
}
