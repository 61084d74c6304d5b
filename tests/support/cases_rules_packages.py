"""Which rule decides npm's and pnpm's words, in every spelling that their judges tell apart.

One argv a line, as a shell would split it, over the tree of `tests/unit/policy/test_argv_rule_ids.py`. What runs stands
under `argv.default`: near misses of the rest.
"""

from __future__ import annotations

NPM: dict[str, str] = {
    "argv.default": r"""
        npm
        npm inst
        npm exec ./node_modules/.bin/vitest
        npm exec node_modules/.bin/vitest
        npm init
        npm explore left -- vitest
        npm config
        npm config list editor x
        npm config set a=b c=d
        npm config set editor
        npm config set editor ''
        npm config set editor /dev/null
        npm config delete editor
        npm config delete a editor
        npm config delete fund
        npm set fund false
        npm set a=b editor
        npm config set commit-hooks true
        npm --commit-hooks version
        npm version
        npm --viewer=man help
        npm --browser=browser docs
        npm --browser=false docs
        npm config set node-options=--trace-warnings
        npm config set node-options "--import './scratch/a.mjs"
        npm config set _editor x
        npm config set pnpmfile src/app.mjs
        npm config set pnpmfile ''
        npm run hi
        npm run
        npm test ship
        npm t
        npm start
        npm stop
        npm restart
        npm install-test
        npm cit
        npm it
        npm --prefix /tmp install
        npm install
        npm --ignore-scripts install
        npm --ignore-scripts=false install
        npm --no-ignore-scripts install
        npm install left
        npm install .
        npm install ./
        npm ci
        npm ci left
        npm rebuild left
        npm pack
        npm publish
        npm stage
        npm link
        npm link left
        npm --prefix= install
        npm --prefix src install
    """,
    "git.hooks.environment": r"""
        npm run quiet
    """,
    "git.hooks.npm": r"""
        npm set commit-hooks false
        npm config set commit-hooks 0
        npm config set commitHooks no
        npm config set no-commit-hooks x
        npm --no-commit-hooks version
    """,
    "git.push.verb": r"""
        npm exec git push
        npm exec -c 'git push'
        npm exec --call=ls --call='git push'
        npm exec --package=x -- git push
        npm explore left -- git push
        npm run ship
        npm run-script ship
        npm rum ship
        npm urn ship
        npm --prefix= run ship
        npm --prefix src run ship
        npm -w pkg run ship
        npm --workspace pkg run ship
        npm --workspace pkg --prefix src run ship
        npm --prefix pkg install
        npm --prefix pkg ci
    """,
    "launcher.fetch": r"""
        npm exec --package=x vitest
        npm init x
    """,
    "launcher.program": r"""
        npm edit
        npm edit x
        npm config edit
        npm config edit x
        npm config edit edit
    """,
    "launcher.shell": r"""
        npm exec
        npm exec sh
        npm exec -c ls
        npm explore left
    """,
    "launcher.unlisted": r"""
        npm exec zzz
        npm exec ./node_modules/.bin/zzz
        npm exec ./src/app.mjs
        npm exec a/vitest
        npm exec ..
        npm exec .
        npm explore left ls
    """,
    "npm.command": r"""
        npm zzz
        npm zzz git push
        npm te
        npm hi
        npm --commit-hooks=off version
    """,
    "package.setting.node-options": r"""
        npm config set node-options=a/b
    """,
    "package.setting.program": r"""
        npm --script-shell=/x
        npm config set editor x
        npm config set editor=x
        npm config set a=b editor=x
        npm config delete editor=x
        npm set editor x
        npm set editor=x
        npm version --script-shell=x
        npm --viewer=x help
        npm --browser=x docs
        npm config set init.module x
        npm config set initModule x
        npm --userconfig x ls
        npm --init-module=x init
        npm --globalconfig x ls
        npm config set editor a=b
        npm config set Git x
    """,
    "scratch.node.file": r"""
        npm exec -- node scratch/a.mjs
    """,
    "scratch.node.preload": r"""
        npm config set node-options=--import=./scratch/a.mjs
    """,
    "scratch.package": r"""
        npm --prefix /tmp run hi
        npm --prefix /tmp test
        npm --prefix scratch run t
        npm -C scratch run t
        npm --workspace ../.. run hi
    """,
    "scratch.settings": r"""
        npm config set pnpmfile scratch/b.js
    """,
    "scratch.tool": r"""
        npm exec fresh
    """,
    "typecheck.script": r"""
        npm run typecheck
    """,
}
"""Rule to npm's command lines."""

PNPM: dict[str, str] = {
    "argv.default": r"""
        pnpm
        pnpm exec vitest --script-shell=x
        pnpm run
        pnpm run hi --script-shell=x
        pnpm test
        pnpm t
        pnpm tst
        pnpm start
        pnpm stop
        pnpm restart
        pnpm it
        pnpm install-test
        pnpm config set script-shell
        pnpm config set
        pnpm config
        pnpm config delete
        pnpm config delete script-shell
        pnpm config list script-shell x
        pnpm config get script-shell x
        pnpm set fund=x script-shell
        pnpm config set node-options --import=./scratch/a.mjs
        pnpm config set node-options=--trace-warnings a/b
        pnpm config set editor ''
        pnpm config set editor= x
        pnpm deploy out
        pnpm list .git
        pnpm version
        pnpm hi
        pnpm vitest
        pnpm --prefix= list
        pnpm install
        pnpm install --ignore-scripts
        pnpm --ignore-scripts install
        pnpm add left
        pnpm remove left
        pnpm i
        pnpm rebuild
        pnpm pack
        pnpm publish
        pnpm link
        pnpm prune
        pnpm update
        pnpm install --dir=
        pnpm -C pkg exec only
        pnpm -C pkg exec vitest
        pnpm m m ship
    """,
    "git.hooks.config": r"""
        pnpm dlx git -c core.hooksPath=x commit
    """,
    "git.hooks.environment": r"""
        pnpm quiet
    """,
    "git.hooks.option": r"""
        pnpm dlx git commit -n
        pnpm exec -- git commit -n
    """,
    "git.hooks.path": r"""
        pnpm deploy .git/hooks
        pnpm deploy .git
        pnpm deploy x/.git/y
    """,
    "git.push.verb": r"""
        pnpm dlx git push
        pnpm exec git push
        pnpm -c exec git push
        pnpm run ship
        pnpm run -- ship
        pnpm run -C src ship
        pnpm run -C= ship
        pnpm run-script ship
        pnpm ship
        pnpm git push
        pnpm multi run ship
        pnpm m ship
        pnpm -r ship
        pnpm -C '' ship
        pnpm -C pkg install
        pnpm install -C pkg
        pnpm -- ship
    """,
    "launcher.fetch": r"""
        pnpm dlx vitest
        pnpm create git push
        pnpm create x
        pnpm env use 20
        pnpm runtime x
        pnpm rt x
        pnpm self-update
        pnpm with x
    """,
    "launcher.shell": r"""
        pnpm dlx
        pnpm exec
        pnpm exec sh
        pnpm -c exec ls
        pnpm recursive exec sh
    """,
    "launcher.unlisted": r"""
        pnpm exec zzz
        pnpm zzz
        pnpm exec only
        pnpm install-ci-test
        pnpm exec -c 'git push'
        pnpm rum ship
        pnpm urn ship
        pnpm exec -c ls
        pnpm exec --script-shell=x vitest
    """,
    "package.setting.program": r"""
        pnpm run --script-shell=x hi
        pnpm config set script-shell x
        pnpm config set script-shell=x
        pnpm config delete script-shell x
        pnpm c set script-shell x
        pnpm set script-shell x
        pnpm set script-shell=x
        pnpm recursive --script-shell=x hi
        pnpm list --script-shell=x
        pnpm why x --script-shell=x
    """,
    "scratch.node.preload": r"""
        pnpm config set node-options=--import=./scratch/a.mjs
    """,
    "scratch.package": r"""
        pnpm run -C scratch t
        pnpm run --dir scratch t
        pnpm -C scratch run t
        pnpm -C scratch t
        pnpm -C /tmp list
        pnpm --dir=.. list
        pnpm run --prefix scratch t
    """,
    "scratch.tool": r"""
        pnpm fresh
    """,
    "typecheck.script": r"""
        pnpm typecheck
    """,
}
"""Rule to pnpm's command lines."""
