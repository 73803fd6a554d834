// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"context"
	"slices"
)

// Judging lists the traces of which a row without a run has verdicts on what it does not hold, with the
// column judged of these rows. want chooses among the reels; nil is all.
func (c *Catalog) Judging(ctx context.Context, want func(Name) bool) (traces map[TraceKey][]string, err error) {
	err = c.retry(ctx, func(objects []Object) error {
		traces = map[TraceKey][]string{}
		for _, o := range objects {
			if want != nil && !want(o.Name) {
				continue
			}
			f, err := c.file(ctx, o)
			if err != nil {
				return err
			}
			for _, at := range f.all() {
				if err := f.judging(ctx, o.Tenant, at, traces); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return traces, err
}

func (f *File) judging(ctx context.Context, tenant string, at span, traces map[TraceKey][]string) error {
	if nulls, err := f.nulls(at.group, "run_id"); err != nil || nulls == 0 {
		return err
	}
	rows, err := f.metas(ctx, at, []string{"run_id", "judged", "trace_id"})
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.RunID == "" && len(row.Judged) > 0 {
			k := TraceKey{tenant, row.TraceID}
			for _, name := range row.Judged {
				if !slices.Contains(traces[k], name) {
					traces[k] = append(traces[k], name)
				}
			}
		}
	}
	return nil
}
