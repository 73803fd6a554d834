// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replaysplitconnector // import "github.com/tapedeck/tapedeck/connector/replaysplitconnector"

import (
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/pipeline"
)

// side is where a run, a record or a data point goes.
type side int

const (
	production side = iota
	replay
	undecided
	sides // how many there are
)

func (s side) String() string { return [...]string{"production", "replay", "undecided"}[s] }

// router is what connector.TracesRouterAndConsumer and its siblings have in common.
type router[C any] interface {
	Consumer(...pipeline.ID) (C, error)
	PipelineIDs() []pipeline.ID
}

// consumers finds the consumer of each side. It reports every pipeline that a side names and that does not exist. It also reports every pipeline
// that has this connector as a receiver and that no side names.
func consumers[C any](next any, signal pipeline.Signal, cfg *Config) (out [sides]C, err error) {
	r, ok := next.(router[C])
	if !ok {
		return out, errors.New("the connector needs a router as the next component")
	}
	there := r.PipelineIDs()
	var errs []error
	named := []pipeline.ID{}
	for s, list := range [sides][]pipeline.ID{cfg.Production, cfg.Replay, cfg.Undecided} {
		own := slices.DeleteFunc(slices.Clone(list), func(id pipeline.ID) bool { return id.Signal() != signal })
		for _, id := range own {
			if !slices.Contains(there, id) {
				errs = append(errs, fmt.Errorf("%s names pipeline %q, which does not have this connector as a receiver", side(s), id))
			}
		}
		named = append(named, own...)
		switch {
		case len(own) > 0:
			if len(errs) == 0 {
				if out[s], err = r.Consumer(own...); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", side(s), err))
				}
			}
		case side(s) == undecided:
			out[s] = out[replay]
		default:
			errs = append(errs, fmt.Errorf("%s names no pipeline for %s", side(s), signal))
		}
	}
	for _, id := range there {
		if !slices.Contains(named, id) {
			errs = append(errs, fmt.Errorf("pipeline %q has this connector as a receiver and is named under no side", id))
		}
	}
	return out, errors.Join(errs...)
}
