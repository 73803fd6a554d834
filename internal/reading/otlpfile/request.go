// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"errors"
	"fmt"

	"github.com/tapedeck/tapedeck/internal/reading/nesting"
	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// maxUnchecked bounds, in bytes, a request with metrics or profiles. Their types are not checked, so the
// decoder may lose its place in them: it then takes less than 9 bytes of stack for a byte, of the 512 MB that
// it has.
const maxUnchecked = 16 << 20

// CheckRequest checks a request of OTLP/JSON before a decoder of pdata reads it, and returns it in the form
// that the decoder knows. What the schema does not know of is left as it is.
//
// A bound on depth alone protects no decoder of pdata. After a value of the wrong type the decoder goes on
// where it stands and takes values that lie beside each other for values in each other: 100 MB of
// "values":[1,"arrayValue"] overflow its stack, which ends the process. So every value has to be of its type.
//
// The error wraps nesting.ErrTooDeep for more than nesting.JSON open brackets, ErrTooLarge for more than
// maxUnchecked bytes with metrics or profiles, and ErrMalformed for the rest. It holds no content.
func CheckRequest(body []byte) ([]byte, error) {
	checked, err := checkRequest(body)
	if e := (*Error)(nil); errors.As(err, &e) {
		e.Name = "request"
	}
	return checked, err
}

func checkRequest(body []byte) ([]byte, error) {
	c := newChecker(body)
	c.depth = nesting.JSON
	if err := c.next(); err != nil {
		return nil, err
	}
	if !c.is("{") {
		return nil, c.fail("no object")
	}
	unchecked := false
	err := c.members(func(name string, key jsonscan.Token) error {
		d, ok := documents[name]
		unchecked = unchecked || ok && d.field == nil
		return c.member(d.field, name, key)
	})
	if err != nil {
		return nil, err
	}
	if err := c.end(); err != nil {
		return nil, err
	}
	if unchecked && len(body) > maxUnchecked {
		return nil, c.failErr(fmt.Errorf("%w: more than %d bytes of JSON with metrics or profiles", ErrTooLarge, maxUnchecked))
	}
	return c.apply(0, len(body)), nil
}
