// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

// Revision counts the changes of what is derived. It grows with every release in which the same evidence gives another tape, oracle or file
// beside them, for whatever reason. On equal evidence the generation of the highest revision is the current one, so an upgrade replaces
// what older versions wrote. A test fails when the golden tapes change and Revision does not.
const Revision = 33
