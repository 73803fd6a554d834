#!/bin/sh
# Copyright The tapedeck Authors
# SPDX-License-Identifier: Apache-2.0
# run-kotlin.sh PROFILE[,-Dproperty=value] FILE ARGUMENT...: the same as run.sh for FILE.kt; the compiler is one of the profile's dependencies.
set -e
here=$(dirname "$0"); out=${OUT:-/tmp/drivers-java}/$1; profile=${1%%,*}; more=$(printf %s "$1" | tr , '\n' | sed -n '2,$p'); file=$2; shift 2
mkdir -p "$out/classes"
[ -s "$out/classpath" ] || mvn -q -B -f "$here/pom.xml" "-P$profile" $more org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath "-Dmdep.outputFile=$out/classpath"
javac -nowarn -d "$out/classes" -cp "$(cat "$out/classpath")" "$here/Recorder.java" "$here/Around.java"
java -cp "$(cat "$out/classpath")" org.jetbrains.kotlin.cli.jvm.K2JVMCompiler -no-stdlib -no-reflect -nowarn -jvm-target 17 -cp "$out/classes:$(cat "$out/classpath")" -d "$out/classes" "$here/$file.kt"
exec java $JAVA_OPTS -cp "$out/classes:$(cat "$out/classpath")" "${file}Kt" "$@"
