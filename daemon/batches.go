package daemon

import (
	"context"
	"fmt"
	"path/filepath"

	"concordat"
	"concordat/instance/config"
	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
	"concordat/store"
)

// openBatches assembles the components that run batches submitted on the pages.
func (s *Daemon) openBatches(d *WebApp, files *store.Files) *batch.Queue {
	o := s.o
	return batch.NewQueue(o.Site, batch.QueueOptions{
		Store: o.Store, Queue: d.queue, Logger: s.log,
		Rules: func() report.Rules { return o.Live.Now().Report.Rules },
		Leads: func() bool { return o.Live.Now().Meaning.Batches == config.LeadsOn },
		Open: func(_ context.Context, id string) (concordat.Index, func() error, error) {
			shard, err := o.BatchFolders().OpenIndex(id)
			if err != nil {
				return nil, nil, err
			}
			return shard, shard.Close, nil
		},
		Read: func(ctx context.Context, in store.BatchInput) ([]site.Item, error) {
			if filepath.IsAbs(in.Place) {
				return nil, fmt.Errorf("the concordat batch command ended before reading %s; repeat the command to continue", in.Name)
			}
			path, err := files.Fetch(ctx, in.Place)
			if err != nil {
				return nil, err
			}
			return d.read(ctx, path, in.Name)
		},
		Options: func(ctx context.Context, j batch.Job) (site.CheckOptions, func(), error) {
			out, done, err := s.jobOptions(ctx, site.Job{Libraries: j.Libraries, Template: j.Template, Forward: j.Forward, Partners: j.Partners,
				Purpose: j.Purpose})
			out.Exact, out.Channel, out.Candidates = out.Exact || j.Exact, j.Channel, j.Candidates
			return out, done, err
		},
	})
}
