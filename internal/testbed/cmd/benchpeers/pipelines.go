// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	_ "github.com/tapedeck/tapedeck/internal/deck/reel/view"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/file"
	"github.com/tapedeck/tapedeck/tape"
)

const (
	bucket = "tapes"
	region = "us-east-1"
	access = "benchpeers" // both keys of the S3 server of one run
)

type settings struct {
	folder   string
	endpoint string // of the S3 server
}

// pipeline is one way from OTLP to where its spans end.
type pipeline struct {
	name       string
	contrib    bool // made of contrib's components alone
	s3         bool
	example    string   // a configuration of the repository, run as it stands; then there are no processors and no exporter
	processors []string // in their order; FOLDER stands for a folder of its own
	exporter   func(settings) string
	delivered  func(folder string) (spans int, err error)
	emits      bool // delivered is what agentrun says it has passed on
}

func nop(settings) string { return "  nop:\n" }

func tapeMemory(settings) string { return "  tape:\n    deck: mem://bench\n" }

func tapeFile(s settings) string { return "  tape:\n    deck: " + s.fileDeck() + "\n" }

func tapeS3(s settings) string { return "  tape:\n    deck: " + s.s3Deck() + "\n" }

// gateOff is an exporter without the gate.
func gateOff(exporter func(settings) string) func(settings) string {
	return func(s settings) string { return exporter(s) + "    gate: off\n" }
}

// reels is an exporter with the other layout.
func reels(exporter func(settings) string) func(settings) string {
	return func(s settings) string { return exporter(s) + "    layout: reels\n" }
}

const deckFolder = "deck"

func (s settings) fileDeck() string { return "file://" + filepath.Join(s.folder, deckFolder) }

func (s settings) s3Deck() string {
	return fmt.Sprintf("s3://%s/deck?endpoint=http://%s&region=%s&use_path_style=true", bucket, s.endpoint, region)
}

// stored is the folder in which whatever a pipeline writes ends up.
func (p pipeline) stored(s settings) string {
	if p.s3 {
		return filepath.Join(s.folder, "s3")
	}
	return filepath.Join(s.folder, deckFolder)
}

// awss3 is set up for throughput: protobuf, zstd, one object per 2,000 spans or second.
func awss3(s settings) string {
	return fmt.Sprintf(`  awss3:
    s3uploader:
      region: %s
      s3_bucket: %s
      s3_prefix: bench
      endpoint: http://%s
      s3_force_path_style: true
      disable_ssl: true
      unique_key_func_name: uuidv7
      compression: zstd
    marshaler: otlp_proto
    timeout: 30s
    sending_queue:
      enabled: true
      queue_size: 40000
      sizer: items
      block_on_overflow: true
      num_consumers: 4
      batch:
        flush_timeout: 1s
        min_size: 2000
        max_size: 4000
`, region, bucket, s.endpoint)
}

func (p pipeline) config(s settings) string {
	name := func(block string) string {
		return strings.TrimSuffix(strings.TrimSpace(strings.SplitN(block, "\n", 2)[0]), ":")
	}
	exporter := p.exporter(s)
	processors, names := "", make([]string, len(p.processors))
	if len(p.processors) > 0 {
		processors = "processors:\n" + strings.ReplaceAll(strings.Join(p.processors, ""), "FOLDER", s.folder)
	}
	for i, block := range p.processors {
		names[i] = name(block)
	}
	return fmt.Sprintf(`receivers:
  otlp:
    protocols:
      grpc:
        endpoint: ADDRESS
        max_recv_msg_size_mib: 64
%sexporters:
%sservice:
  telemetry:
    metrics:
      level: basic
      readers:
        - pull:
            exporter:
              prometheus:
                host: 127.0.0.1
                port: METRICS_PORT
    logs:
      level: warn
  pipelines:
    traces:
      receivers: [otlp]
      processors: [%s]
      exporters: [%s]
`, processors, exporter, strings.Join(names, ", "), name(exporter))
}

// inTapes counts the spans that the tapes of a deck say they were made from.
func inTapes(folder string) (spans int, err error) {
	count := func(body []byte) error {
		t, err := tape.Read(body)
		if err == nil {
			spans += t.Sources.Spans
		}
		return err
	}
	err = files(folder, tape.TapeFile, count)
	return spans, errors.Join(err, files(folder, tape.TapeFile+".zst", func(packed []byte) error {
		body, err := deck.Unpack(packed)
		if err != nil {
			return err
		}
		return count(body)
	}))
}

// inReels counts the spans that the tapes of a deck of reels say they were made from.
func inReels(folder string) (spans int, err error) {
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "tapedeck.json" {
			return err
		}
		ctx := context.Background()
		d, err := deck.Open(ctx, "file://"+filepath.Dir(path))
		if err != nil {
			return err
		}
		defer d.Close()
		for location, err := range d.Locations(ctx) {
			if err != nil {
				return err
			}
			current, ok, err := d.Current(ctx, location)
			if err != nil {
				return err
			}
			if !ok {
				continue // the trace holds no run
			}
			for _, run := range current.Runs {
				body, err := d.ReadFile(ctx, location, current.Generation, run.Root, tape.TapeFile)
				if err != nil {
					return err
				}
				t, err := tape.Read(body)
				if err != nil {
					return err
				}
				spans += t.Sources.Spans
			}
		}
		return nil
	})
	return spans, err
}

// inObjects counts the spans of compressed OTLP objects.
func inObjects(folder string) (spans int, err error) {
	d, err := zstd.NewReader(nil)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	var u ptrace.ProtoUnmarshaler
	err = files(filepath.Join(folder, "s3"), "", func(body []byte) error {
		plain, err := d.DecodeAll(body, nil)
		if err != nil {
			return err
		}
		td, err := u.UnmarshalTraces(plain)
		if err == nil {
			spans += td.SpanCount()
		}
		return err
	})
	return spans, err
}

// files reads every file below a folder, or those of one name.
func files(folder, name string, read func([]byte) error) error {
	return filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || name != "" && e.Name() != name {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := read(body); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
}
