# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
"""The jobs of examples/spark in one session, for the test: what they say, as lines of JSON."""

import json
import sys

import insight
import redact
import rederive
import suite_check
import tapedeck_spark as tapedeck
import verify

asked = json.loads(sys.argv[1])
spark = tapedeck.session('test')


def say(name, value):
    print('SAID ' + json.dumps({'name': name, 'value': value}, default=str), flush=True)


def rows(frame):
    return [list(row) for row in frame.collect()]


for name, deck in asked['decks'].items():
    tapedeck.views(spark, deck)
    say(name, [rows(spark.sql(statement)) for statement in asked['statements']])
tapedeck.views(spark, asked['decks']['folder'])
say('insight', rows(spark.sql(insight.QUERY)))
say('verify', rows(verify.verify(spark, asked['decks']['folder'])))
say('verify damaged', rows(verify.verify(spark, asked['damaged']).where("problems > ''")))
say('redact', rows(redact.search(spark, asked['decks']['folder'])))
say('redact secret', rows(redact.search(spark, asked['secret'])))
say('suite check', rows(suite_check.check(spark, asked['decks']['folder'], asked['cases'])))
say('rederive', rows(rederive.rederive(spark, asked['decks']['bucket'], asked['to'])))
say('rederive below', rows(rederive.rederive(spark, asked['decks']['bucket'], asked['to'], below=1)))
