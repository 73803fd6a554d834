// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package configcheck

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"
)

type inner struct {
	Most    int            `mapstructure:"most"`
	Pause   time.Duration  `mapstructure:"pause"`
	Further map[string]int `mapstructure:"further"`
}

type embedded struct {
	Squashed uint16 `mapstructure:"squashed"`
}

type config struct {
	Embedded embedded                       `mapstructure:",squash"`
	Count    int                            `mapstructure:"count"`
	Small    int8                           `mapstructure:"small"`
	Unsigned uint64                         `mapstructure:"unsigned"`
	Wait     time.Duration                  `mapstructure:"wait"`
	Factor   float64                        `mapstructure:"factor"`
	Short    float32                        `mapstructure:"short"`
	Name     string                         `mapstructure:"name"`
	Inner    *inner                         `mapstructure:"inner"`
	List     []inner                        `mapstructure:"list"`
	Optional configoptional.Optional[inner] `mapstructure:"optional"`
	Scalar   configoptional.Optional[int32] `mapstructure:"scalar"`
	Anything map[string]any                 `mapstructure:"anything"`
}

func (c *config) Unmarshal(conf *confmap.Conf) error { return Unmarshal(conf, c) }

// read decodes text as the collector does: through the provider's own reading of YAML.
func read(t *testing.T, text string) (*config, error) {
	t.Helper()
	retrieved, err := confmap.NewRetrievedFromYAML([]byte(text))
	require.NoError(t, err)
	conf, err := retrieved.AsConf()
	require.NoError(t, err)
	c := &config{Optional: configoptional.Default(inner{Most: 7})}
	return c, conf.Unmarshal(c)
}

func TestNumbersThatAFieldCannotHoldAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"count: 99999999999999999999":         "count: 100000000000000000000 is not between -9223372036854775808 and 9223372036854775807",
		"count: -99999999999999999999":        "count: -100000000000000000000 is not between",
		"count: 9223372036854775808":          "count: 9223372036854775808 is not between",
		"count: .inf":                         "count: +Inf is not between",
		"count: .nan":                         "count: .nan is no number",
		"count: 1.5":                          "count must be a whole number, got 1.5",
		"small: 128":                          "small: 128 is not between -128 and 127",
		"small: -129":                         "small: -129 is not between -128 and 127",
		"unsigned: -1":                        "unsigned: -1 is not between 0 and 18446744073709551615",
		"unsigned: 18446744073709551616":      "unsigned: 18446744073709551616 is not between",
		"squashed: 65536":                     "squashed: 65536 is not between 0 and 65535",
		"wait: 99999999999999999999":          "wait: 100000000000000000000 ns is not between -2562047h47m16.854775808s and 2562047h47m16.854775807s",
		"wait: 0.5":                           "wait must be a whole number, got 0.5",
		"factor: .inf":                        "factor: +Inf does not fit into a float64",
		"factor: .nan":                        "factor: .nan is no number",
		"short: 1e39":                         "short: 1e+39 does not fit into a float32",
		"inner: {pause: 1e30}":                "inner::pause: 1000000000000000019884624838656 ns is not between",
		"inner: {further: {a: 1, b: 1e30}}":   "inner::further::b: 1000000000000000019884624838656 is not between",
		"list: [{most: 1}, {most: 1e30}]":     "list::1::most: 1000000000000000019884624838656 is not between",
		"optional: {most: 1e30}":              "optional::most: 1000000000000000019884624838656 is not between",
		"scalar: 2147483648":                  "scalar: 2147483648 is not between -2147483648 and 2147483647",
		"{count: 1e30, wait: 1e30, small: 3}": "count: 1000000000000000019884624838656 is not between",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := read(t, text)
			require.ErrorContains(t, err, want)
		})
	}
	_, err := read(t, "{count: 1e30, wait: 1e30}")
	require.ErrorContains(t, err, "count: ")
	require.ErrorContains(t, err, "wait: ")
}

func TestNumbersThatFitAreReadAsTheyAre(t *testing.T) {
	c, err := read(t, `{count: -9223372036854775808, small: 127, unsigned: 18446744073709551615, squashed: 65535, wait: 9223372036854775807, factor: 1.5,
		short: 0.25, name: 99999999999999999999x, inner: {most: 1e6, pause: 3s}, list: [{most: 1}, {}], optional: {pause: 1m}, scalar: -2147483648,
		anything: {deep: [99999999999999999999, 1.5]}}`)
	require.NoError(t, err)
	require.Equal(t, -1<<63, c.Count)
	require.Equal(t, int8(127), c.Small)
	require.Equal(t, uint64(1<<64-1), c.Unsigned)
	require.Equal(t, uint16(65535), c.Embedded.Squashed)
	require.Equal(t, time.Duration(1<<63-1), c.Wait)
	require.Equal(t, 1.5, c.Factor)
	require.Equal(t, &inner{Most: 1_000_000, Pause: 3 * time.Second}, c.Inner)
	require.Equal(t, []inner{{Most: 1}, {}}, c.List)
	require.Equal(t, &inner{Most: 7, Pause: time.Minute}, c.Optional.Get())
	require.Equal(t, int32(-1<<31), *c.Scalar.Get())

	// What is no number is the decoder's business.
	_, err = read(t, "{count: many}")
	require.ErrorContains(t, err, "count")
	_, err = read(t, "{unknown: 1e30}")
	require.ErrorContains(t, err, "unknown")
	_, err = read(t, "{inner: 3, list: 4}")
	require.Error(t, err)
	c, err = read(t, "optional:")
	require.NoError(t, err)
	require.Equal(t, 7, c.Optional.Get().Most)
}
