#!/bin/sh
# Make three.bundle.js and three.LICENSE anew from npm: needs node and the network, once.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent "three@${1:-0.187.0}" esbuild@0.28.2
cp "$here/three.entry.js" .
npx esbuild three.entry.js --bundle --minify --format=iife --global-name=THREE --target=es2022 \
  --legal-comments=none --outfile="$here/three.bundle.js"
cp node_modules/three/LICENSE "$here/three.LICENSE"
