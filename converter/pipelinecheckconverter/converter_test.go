// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinecheckconverter

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// convert returns the warnings and the error.
func convert(t *testing.T, conf *confmap.Conf) (warnings []string, err error) {
	t.Helper()
	core, log := observer.New(zap.WarnLevel)
	before := conf.ToStringMap()
	err = NewFactory().Create(confmap.ConverterSettings{Logger: zap.New(core)}).Convert(t.Context(), conf)
	require.Equal(t, before, conf.ToStringMap(), "a check changes nothing")
	for _, e := range log.All() {
		var fields []string
		for _, f := range e.Context {
			fields = append(fields, f.String)
		}
		warnings = append(warnings, strings.Join(fields, " "))
	}
	return warnings, err
}

func parse(t *testing.T, text string) *confmap.Conf {
	t.Helper()
	r, err := confmap.NewRetrievedFromYAML([]byte(text))
	require.NoError(t, err)
	conf, err := r.AsConf()
	require.NoError(t, err)
	return conf
}

func TestReceiverThatDecodesJSONOfAnyDepthIsNamed(t *testing.T) {
	warnings, err := convert(t, parse(t, `
receivers:
  otlp: {protocols: {grpc: {}, http: {}}}
  otlp/bounded: {protocols: {http: {middlewares: [{id: other}, {id: otlpdepth/1}]}}}
  otlp/grpc: {protocols: {grpc: {}}}
  otlp/null: {protocols: {http: }}
  otlp/unused: {protocols: {http: {}}}
  tape: {protocols: {http: {}}}
service:
  pipelines:
    traces: {receivers: [otlp, otlp/bounded, otlp/grpc, otlp/null, tape], exporters: [debug]}
`))
	require.NoError(t, err)
	require.Equal(t, []string{"otlp", "otlp/null"}, warnings)
}

func TestPipelines(t *testing.T) {
	const components = `
processors: {agentredaction: {key: {env: K}}, agentrun: {}, agentrun/open: {redaction: none}, batch: {}, batch/late: {}}
connectors: {genailogs: {}, forward: {}, replaysplit: {}}
exporters: {tape: {}, tape/late: {allow_batch: true}, debug: {}}
service:
  pipelines:
`
	for name, c := range map[string]struct {
		pipelines string
		wrong     string // part of the error; empty for none
		warnings  []string
	}{
		"as it should be":             {pipelines: `traces: {receivers: [otlp], processors: [agentredaction, agentrun], exporters: [tape]}`},
		"batch before, as in others":  {pipelines: `traces: {receivers: [otlp], processors: [batch, agentredaction, agentrun], exporters: [tape]}`},
		"no redaction":                {pipelines: `traces: {receivers: [otlp], processors: [agentrun], exporters: [tape]}`, wrong: "service::pipelines::traces: agentrun requires redaction, and no agentredaction stands before it"},
		"redaction behind":            {pipelines: `traces/x: {receivers: [otlp], processors: [agentrun, agentredaction], exporters: [tape]}`, wrong: "service::pipelines::traces/x: agentrun requires redaction, and agentredaction stands behind it"},
		"redaction in another":        {pipelines: "traces: {receivers: [otlp], processors: [agentrun], exporters: [tape]}\n    traces/2: {receivers: [otlp], processors: [agentredaction], exporters: [debug]}", wrong: "no agentredaction"},
		"asked for nothing":           {pipelines: `traces: {receivers: [otlp], processors: [agentrun/open], exporters: [tape]}`},
		"redaction before connector":  {pipelines: "traces/in: {receivers: [otlp], processors: [agentredaction], exporters: [forward]}\n    traces: {receivers: [forward], processors: [agentrun], exporters: [tape]}"},
		"connector without redaction": {pipelines: "traces/in: {receivers: [otlp], exporters: [forward]}\n    traces: {receivers: [forward], processors: [agentrun], exporters: [tape]}", wrong: "no agentredaction"},
		"a ring of connectors":        {pipelines: "traces/in: {receivers: [forward], exporters: [forward]}\n    traces: {receivers: [forward], processors: [agentrun], exporters: [forward]}", wrong: "no agentredaction"},
		"batch behind":                {pipelines: `traces: {receivers: [otlp], processors: [agentredaction, agentrun, batch/late], exporters: [tape]}`, wrong: "service::pipelines::traces::batch/late: a batch processor stands between agentrun and the tape exporter"},
		"batch behind, allowed":       {pipelines: `traces: {receivers: [otlp], processors: [agentredaction, agentrun, batch], exporters: [tape/late]}`},
		"batch, allowed for one":      {pipelines: `traces: {receivers: [otlp], processors: [agentredaction, agentrun, batch], exporters: [tape/late, tape]}`, wrong: "service::pipelines::traces::batch: a batch processor"},
		"batch behind, open":          {pipelines: `traces: {receivers: [otlp], processors: [agentrun/open, batch], exporters: [tape]}`, wrong: "put it before agentrun/open"},
		"batch behind, no tapes":      {pipelines: `traces: {receivers: [otlp], processors: [agentredaction, agentrun, batch], exporters: [debug]}`},
		"batch behind the splitter":   {pipelines: "traces: {receivers: [otlp], processors: [agentredaction, agentrun], exporters: [replaysplit]}\n    traces/p: {receivers: [replaysplit], processors: [batch], exporters: [tape]}\n    traces/r: {receivers: [replaysplit], exporters: [tape]}", wrong: "service::pipelines::traces/p::batch: a batch processor"},
		"batch before the splitter":   {pipelines: "traces: {receivers: [otlp], processors: [agentredaction, agentrun, batch], exporters: [replaysplit]}\n    traces/p: {receivers: [replaysplit], exporters: [tape]}", wrong: "service::pipelines::traces::batch: a batch processor"},
		"no agentrun":                 {pipelines: `traces: {receivers: [otlp], processors: [agentredaction], exporters: [tape]}`, warnings: []string{"traces"}},
		"agentrun in one of two":      {pipelines: "traces/in: {receivers: [otlp], processors: [agentredaction, agentrun], exporters: [forward]}\n    traces/past: {receivers: [otlp/2], exporters: [forward]}\n    traces: {receivers: [forward], exporters: [tape]}", warnings: []string{"traces"}},
		"of another form":             {pipelines: "traces: [1]\n    logs: {processors: {a: 1}, exporters: [[]]}"},
	} {
		t.Run(name, func(t *testing.T) {
			warnings, err := convert(t, parse(t, components+"    "+c.pipelines+"\n"))
			if c.wrong == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.wrong)
			}
			require.Equal(t, c.warnings, warnings)
		})
	}
}

func TestExamplesAreAsTheyShouldBe(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		if strings.HasSuffix(file, "alerts.yaml") {
			continue
		}
		conf, err := confmaptest.LoadConf(file)
		require.NoError(t, err)
		warnings, err := convert(t, conf)
		require.NoError(t, err, file)
		require.Empty(t, warnings, file)
	}
}

func TestNothingIsNoMistake(t *testing.T) {
	require.NoError(t, NewFactory().Create(confmap.ConverterSettings{}).Convert(t.Context(), confmap.New()))
}
