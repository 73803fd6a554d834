// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generation

// Revision counts the changes of the derivation. It grows with every release in which the same evidence gives
// another tape, oracle or file beside them. On equal evidence the generation of the highest revision is the
// current one, so an upgrade replaces what older versions wrote. A test of package derive fails when the
// golden tapes change and Revision does not.
const Revision = 40
