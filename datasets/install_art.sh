#!/bin/sh
# Fetches the freely licensed card art and fonts that training uses; licences: ART.md.
# Nothing of it is committed: Debian's packages go where Debian puts them, the others to .art here.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
art="$here/.art"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if command -v apt-get >/dev/null; then
    sudo=$([ "$(id -u)" = 0 ] || echo sudo)
    # A node from elsewhere brings its own npm, with which Debian's cannot be installed.
    node=$(command -v npm >/dev/null || echo nodejs npm)
    $sudo apt-get update
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y --no-install-recommends $node \
        gnome-cards-data kdegames-card-data-kf5 fonts-dejavu fonts-freefont-ttf \
        fonts-lato fonts-liberation fonts-linuxlibertine fonts-roboto fonts-urw-base35
else
    echo "no apt-get here: install gnome-cards-data and kdegames-card-data-kf5 yourself" >&2
fi

cd "$work"
npm install --prefix "$work" --ignore-scripts --no-audit --no-fund --legacy-peer-deps --loglevel=error \
    @letele/playing-cards@0.1.0 cardsJS@1.1.1 @heruka_urgyen/react-playing-cards@0.5.0 \
    svg-cards@4.0.2 react@18 react-dom@18 @babel/runtime@7
modules="$work/node_modules"

keep() { # keep NAME FOLDER PATTERN: card files of a package become the deck NAME
    mkdir -p "$art/$1"
    find "$2" -maxdepth 1 -name "$3" -exec cp {} "$art/$1/" \;
}
keep cardsjs "$modules/cardsJS/cards" '*.svg'
keep svg-cards "$modules/svg-cards/png/2x" '*_*.png'
for style in 2color 2color-bf; do
    keep "heruka-$style" "$modules/@heruka_urgyen/react-playing-cards/src/images/$style" '*.svg'
done

# These come as React components: print each as the SVG it stands for.
mkdir -p "$art/letele"
cp "$modules/@letele/playing-cards/dist/index.esm.js" "$work/letele.mjs"
cat >"$work/print.mjs" <<'JS'
import { writeFileSync } from 'node:fs';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server.node';
import * as cards from './letele.mjs';
for (const [name, card] of Object.entries(cards)) {
  if (/^[CDHS]([2-9aAjJqQkK]|10)$/.test(name)) {
    writeFileSync(`${process.argv[2]}/${name}.svg`, renderToStaticMarkup(createElement(card)));
  }
}
JS
sed -i "s#'@babel/runtime/helpers/extends'#'@babel/runtime/helpers/esm/extends'#" "$work/letele.mjs"
node "$work/print.mjs" "$art/letele"
for deck in "$art"/*/; do
    echo "$(basename "$deck"): $(find "$deck" -type f | wc -l) files"
done
