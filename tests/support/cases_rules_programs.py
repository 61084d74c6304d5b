"""Which rule decides mise's and node's words, and the text of package scripts.

One argv a line, as a shell would split it, over the tree of `tests/unit/policy/test_argv_rule_ids.py`. What runs stands
under `argv.default`: near misses of the rest.
"""

from __future__ import annotations

MISE: dict[str, str] = {
    "argv.default": r"""
        mise
        mise -C '' ls
        mise -C scratch -C src x -- node a.mjs
        mise --jobs x -- git push
        mise -- x -- git push
        mise x -- vitest
        mise tasks
        mise tasks ls
        mise tasks db:reset
        mise tasks info add
        mise run x --shell ls
        mise run
        mise run -q
        mise run other
        mise run Xdb:reset
        mise run db:reset:
        mise run //pkg:other
        mise run src/run.sh
        mise run ../workspace/src/run.sh
        mise plugins
        mise plugin
        mise p
        mise plugins ls
        mise plugins list
        mise plugins ls-remote
        mise plugins list-remote
        mise plugins --all
        mise run .git/hooks/x
        mise generate pre-commit
        mise generate bootstrap
        mise generate config -n
        mise generate config --dry-run
        mise generate
        mise generate devcontainer
        mise trust --show
        mise trust --untrust
        mise set A=b
        mise set HUSKY=1
        mise set LEFTHOOK=1
        mise set OVERCOMMIT_X=1
        mise set 'A={x}'
        mise set A
        mise set -g A=b
        mise settings
        mise settings ls
        mise settings paranoid
        mise settings get paranoid=x
        mise settings get paranoid
        mise settings set x y
        mise settings x=y
        mise settings x y
        mise settings a b paranoid
        mise settings ls paranoid x
        mise config get settings.paranoid
        mise config set env.A b
        mise install
        mise env
        mise set --env=x A=b
        mise x -C src -- node app.mjs
        mise trust --show x
        mise trust --untrust x
        mise x scratch -C src -- node a.mjs
        mise tasks info db:reset
        mise --timeout 4 x -- git push
        mise x -C scratch -C . -- node a.mjs
    """,
    "environment.program": r"""
        mise set GIT_EDITOR=x
    """,
    "git.hooks.environment": r"""
        mise set HUSKY=0
        mise set LEFTHOOK=false
        mise set OVERCOMMIT_DISABLE=1
        mise set GIT_CONFIG_COUNT=1
        mise set A=b HUSKY=0
        mise ev HUSKY=0
        mise env-vars HUSKY=0
    """,
    "git.hooks.mise": r"""
        mise link x .git/hooks
        mise install-into x .git/hooks/y
        mise ls .git/hooks
        mise generate pre-commit --write
        mise generate git-pre-commit -w
        mise generate git-pre-commit --write=x
        mise gen git-pre-commit -w
        mise g git-pre-commit -qw
    """,
    "git.hooks.option": r"""
        mise -s 'git commit -n' x
    """,
    "git.push.verb": r"""
        mise --shell 'git push' x
        mise -E dev x -- git push
        mise --env dev x -- git push
        mise -j 4 x -- git push
        mise --output x x -- git push
        mise --log-level x x -- git push
        mise -P x x -- git push
        mise --profile x x -- git push
        mise -t node x -- git push
        mise --tool x x -- git push
        mise -v x -- git push
        mise x -- git push
        mise exec -- git push
        mise x git push
        mise x node@20 git push
        mise x -c 'git push'
        mise x '-cgit push'
        mise x --command 'git push'
        mise x --command='git push'
        mise run -s 'git push' x
        mise run --shell='git push' x
        mise x --tool node -c 'git push'
    """,
    "launcher.program": r"""
        mise tasks edit x
        mise task edit x
        mise t edit x
        mise plugins install x
        mise plugin add x
        mise p i x
        mise en
        mise link node x
        mise ln node x
        mise install-into node x
        mise bootstrap
        mise bs
        mise dotfiles
        mise dot
        mise ssh
        mise use node
        mise u node
        mise edit
        mise tool-stub x
        mise self-update
    """,
    "launcher.shell": r"""
        mise --shell ls x
        mise -s ls x
        mise -qs ls x
        mise -sls x
        mise -s=ls x
        mise --shell=ls x
        mise --shell= ls
        mise x
        mise x node@20
        mise x -c ls
        mise x -cls
        mise x --command ls
        mise x --command=ls
        mise x -c
        mise x -C
        mise x --cd
        mise x -- sh
        mise run --shell ls x
        mise run --shell=ls x
        mise run -s ls x
        mise run -q --shell ls x
        mise x -c git push
        mise x -q -cls
        mise run --shell git push
    """,
    "mise.generate": r"""
        mise generate bootstrap --output=x
        mise generate bootstrap -o x
        mise generate github-action --write
        mise generate task-docs --output x
        mise generate task-stubs
        mise generate tool-stub x
        mise generate task-stubs --dir x
        mise generate config
        mise generate -q config
        mise generate --write
    """,
    "mise.setting": r"""
        mise set PATH=x
        mise set LD_PRELOAD=x
        mise set 'A={{exec(command="ls")}}'
        mise set 'A={%x%}'
        mise set --file x
        mise set --file=x A=b
        mise set _.path=x
        mise set _.file
        mise set a.b=x
        mise settings paranoid=false
        mise settings paranoid false
        mise settings set paranoid false
        mise settings add trusted_config_paths x
        mise settings unset paranoid
        mise settings default_inline_shell_args=x
        mise settings default_file_shell_args=x
        mise config set settings.paranoid false
        mise cfg set settings.paranoid false
        mise settings unset paranoid x
        mise settings add paranoid x
        mise set GIT_EDITOR=true
        mise set GIT_EDITOR=cat
    """,
    "mise.trust": r"""
        mise tasks add x -- ls
        mise tasks --hidden add x
        mise trust
        mise trust x --show
    """,
    "scratch.node.file": r"""
        mise -C scratch x -- node a.mjs
        mise -C src -C scratch x -- node a.mjs
        mise x -C scratch -- node a.mjs
        mise x --cd scratch -- node a.mjs
        mise x -C src -- node ../scratch/a.mjs
    """,
    "scratch.node.preload": r"""
        mise set NODE_OPTIONS=--import=./scratch/a.mjs
    """,
    "scratch.settings": r"""
        mise -C /tmp ls
        mise -C .. ls
        mise --cd=/tmp ls
        mise --cd /tmp ls
        mise -C/tmp ls
        mise -qC/tmp ls
        mise -C=/tmp ls
        mise x -C /tmp -- node src/app.mjs
        mise x -C /tmp -- node scratch/a.mjs
    """,
    "scratch.task": r"""
        mise tasks run db:reset
        mise tasks r db:reset
        mise run db:reset
        mise r db:reset
        mise watch db:reset
        mise w db:reset
        mise db:reset
        mise run -q db:reset
        mise run :db:reset
        mise run //:db:reset
        mise //:db:reset
        mise run ../../scratch/run.sh
        mise run /tmp/run.sh
        mise /tmp/run.sh
        mise run hi ::: ../tmp/run.sh
        mise -C src run ../scratch/run.sh
    """,
    "scratch.tool": r"""
        mise x -- fresh
    """,
}
"""Rule to mise's command lines."""

NODE: dict[str, str] = {
    "argv.default": r"""
        node --check node_modules/typescript/bin/tsc
        node -p src/app.mjs
        node -p
        node -e
        node -e -p
        node --eval= scratch/a.mjs
        node --print scratch/a.mjs
        node --import data:x src/app.mjs
        node --env-file missing.env src/app.mjs
        node --env-file scratch/plain.env src/app.mjs
        node --run hi
        node --run hi -- git push
        node --run
        node --snapshot-blob scratch/x.blob src/app.mjs
        node --snapshot-blob src/x.blob --build-snapshot src/app.mjs
        node --build-snapshot src/app.mjs
        node --experimental-config-file= src/app.mjs
        node --experimental-default-config-file src/app.mjs
        node --cpu-prof-dir=src src/app.mjs
        node --cpu-prof-dir src src/app.mjs
        node --cpu-prof-name=src/x src/app.mjs
        node --test-reporter-destination=stdout --test src
        node --test-reporter-destination=stderr --test src
        node --test-reporter-destination=x --test src
        node --test 'scratch/*.cjs'
        node --test 'src/**'
        node --test src
        node inspect src/app.mjs
        node - scratch/a.mjs
        node --experimental-entry-url data:x
        node --debug-port scratch/a.mjs
        node -c scratch/a.mjs
        node -r left src/app.mjs
        node --env-file scratch/plainx.env src/app.mjs
        node -e "require('./scratch/b\n')"
        node -e "require('./scratch\u{110000}/b')"
        node -e "require(['./scratch/b'])"
        node -e "import('left', './scratch/b')"
        node -e "console.log('./scratch/b')"
        node -e "log(x, './scratch/b')"
        node --env-file scratch/editor.env src/app.mjs
        node -e "require('node:fs')"
        node --test 'scratch/*.MJS'
        node --test 'node_modules/**/*.js'
        node --env-file scratch/none.env src/app.mjs
        node --env-file scratch/colon.env src/app.mjs
        node --print= scratch/a.mjs
        node debug scratch/a.mjs
    """,
    "argv.node.output": r"""
        node --snapshot-blob x.blob --build-snapshot src/app.mjs
        node --cpu-prof-dir=x src/app.mjs
        node --cpu-prof-name=src src/app.mjs
        node --redirect-warnings=.git/hooks/x src/app.mjs
        node --redirect-warnings=/tmp/x src/app.mjs
        node --redirect_warnings=/tmp/x src/app.mjs
        node --report-directory=x src/app.mjs
        node --test-reporter-destination=/tmp/x --test src
    """,
    "environment.program": r"""
        node --env-file scratch/vim.env src/app.mjs
    """,
    "git.hooks.environment": r"""
        node --env-file scratch/hooks.env src/app.mjs
        node --env-file scratch/quoted.env src/app.mjs
        node --env-file scratch/export.env src/app.mjs
        node --env-file scratch/config.env src/app.mjs
        node --env-file-if-exists scratch/hooks.env src/app.mjs
        node --env-file scratch/nosystem.env src/app.mjs
    """,
    "git.hooks.path": r"""
        node --test-reporter-destination=.git/x --test src
        node --test-reporter-destination .git --test src
    """,
    "git.push.verb": r"""
        node --run ship
    """,
    "scratch.node.env-file": r"""
        node --env-file /tmp/env src/app.mjs
    """,
    "scratch.node.file": r"""
        node scratch/a.mjs
        node /tmp/x.mjs
        node --build-snapshot scratch/a.mjs
        node inspect scratch/a.mjs
        node -- scratch/a.mjs
        node --entry-url file:///workspace/scratch/a.mjs
        node --entry-url ./scratch/a.mjs
        node --experimental-entry-url ./scratch/a.mjs
        node --debug-port 1 scratch/a.mjs
        node --inspect-port 1 scratch/a.mjs
        node --security-reverts x scratch/a.mjs
        node -C dev scratch/a.mjs
    """,
    "scratch.node.inline": r"""
        node -e "require('./scratch/b')"
        node -p "require('./scratch/b')"
        node --import "data:text/javascript,import('./scratch/a.mjs')"
        node --import "data:text/javascript,import('.%2Fscratch/a.mjs')" src/app.mjs
        node -e "require('.\u002fscratch/b')"
        node -e "require('.\u{2f}scratch/b')"
        node -e "require('.\x2Fscratch/b')"
        node -e "require('.\/scr\atch/b')"
        node -e "require.call(null, './scratch/b')"
        node -e "fork(x, './scratch/b')"
        node --import "data:text/javascript,import('./scratch/a.mjs'),1" src/app.mjs
    """,
    "scratch.node.option": r"""
        node --build-snapshot=scratch/a.mjs
        node --experimental-config-file scratch/a.mjs src/app.mjs
        node --openssl-config=scratch/a.mjs src/app.mjs
        node --experimental-sea-config scratch/a.mjs
        node --build-sea scratch/a.mjs
        node --build-snapshot-config scratch/a.mjs
    """,
    "scratch.node.preload": r"""
        node --require ./scratch/b src/app.mjs
        node --test-reporter ./scratch/a.mjs --test src
        node --test-global-setup ./scratch/a.mjs --test src
        node --env-file scratch/env src/app.mjs
        node --loader ./scratch/a.mjs src/app.mjs
        node -r fresh src/app.mjs
        node --import './scratch/a.mjs#x' src/app.mjs
        node --import './scratch/a.mjs?x#y' src/app.mjs
        node --import file:scratch/a.mjs src/app.mjs
        node --import file:////workspace/scratch/a.mjs src/app.mjs
    """,
    "scratch.node.test": r"""
        node --run test -- scratch/a.mjs
        node --test
        node --test scratch
        node --test src scratch/a.test.mjs
        node --test 'scr*/*.mjs'
        node --test '{scratch,src}/*'
        node --test .
    """,
    "typecheck.module": r"""
        node --require typescript/lib/tsc src/app.mjs
        node -e "require('typescript/lib/tsc')"
    """,
    "typecheck.path": r"""
        node node_modules/typescript/bin/tsc
    """,
    "typecheck.script": r"""
        node --run typecheck
    """,
}
"""Rule to node's command lines."""

SCRIPTS: dict[str, str] = {
    "argv.default": r"""
        HUSKY=0 npm ci
        HUSKY=0 yarn
        GIT_EDITOR=x git log
        export A=1
        sh --c 'git push'
        sh -c
        sh -c 'echo' git push
        sh
        source
        .
        yarn exec
        yarn run
        yarn
        yarn hi
        npm-run-all hi
        husky install
        vitest run src/app.mjs
        vitest /tmp/report
        vitest /tmp/report.json
        npx vitest
        env
        env A=1
        nohup
        A=1
        cmd x
        GIT_EDITOR=true git log
        GIT_EDITOR=: git log
        GIT_PAGER=cat git log
        GIT_EDITOR= git log
        GIT_CONFIG_NOSYSTEM=1 git log
        LEFTHOOK=1 git commit
        HUSKY=1 git commit
        jest --x=a=/tmp/a.ts
    """,
    "git.hooks.environment": r"""
        HUSKY=0 git commit -m x
        A=1 HUSKY=0 git commit
        export HUSKY=0
        export A=1 HUSKY=0
        env HUSKY=0 git commit
        cross-env HUSKY=0 git commit
        npm run quiet
        GIT_CONFIG_GLOBAL=x git log
        OVERCOMMIT_DISABLE=1 git commit
        LEFTHOOK=off git commit
        SKIP_SIMPLE_GIT_HOOKS=0 git commit
        HUSKY_SKIP_HOOKS=0 git commit
    """,
    "git.hooks.manager": r"""
        husky uninstall
        lefthook uninstall
        pre-commit uninstall
    """,
    "git.hooks.option": r"""
        cross-env-shell git commit -n
    """,
    "git.push.verb": r"""
        git push
        sh -c 'git push'
        bash -xc 'git push'
        sh -c '$0 "$@"' git push
        sh -c '"$@"' x git push
        sh -c '$1' x git push
        sh -c 'git "$@"' x push
        sh -c 'echo "$@"' x git push
        eval git push
        eval 'git push'
        yarn run ship
        yarn ship
        yarn exec git push
        yarn dlx git push
        yarn --silent ship
        yarn run --silent ship
        yarn git push
        bun run ship
        concurrently npm:ship
        concurrently 'npm:hi' 'git push'
        concurrently "pnpm:ship"
        concurrently "yarn:ship"
        concurrently "npm:ship --x"
        npm-run-all hi ship
        npm-run-all -p ship
        npm-run-all --parallel ship
        npm-run-all2 ship
        run-s ship
        run-p "sh*"
        env git push
        env A=1 git push
        cross-env A=1 B=2 git push
        cross-env-shell 'git push'
        cross-env-shell A=1 git push
        time git push
        nice -n 10 git push
        timeout 5 git push
        timeout 5s git push
        sudo -u x git push
        xargs git push
        xargs -n 1 git push
        npx git push
        npx -p x git push
        exec git push
        git.cmd push
        /usr/bin/git push
        git.exe push
        if true; then git push; fi
        true && git push
        true || git push
        ls | git push
        (git push)
        { git push; }
        ! git push
        $(git push)
        echo $(git push)
        echo `git push`
        echo "$(git push)"
        git push &
        "git" push
        'git' 'push'
        gi"t" push
        while true; do git push; done
        A=$(git push) ls
        npm run ship
        pnpm run ship
        mise x -- git push
        fish -c 'git push'
        'unbalanced; git push
        bash -x -c '"$@"' x git push
        sh -c 'git "$@"' x push y
    """,
    "scratch.node.file": r"""
        yarn node scratch/a.mjs
        node scratch/a.mjs
    """,
    "scratch.node.inline": r"""
        node -e "require('./scratch/b')"
    """,
    "scratch.node.preload": r"""
        NODE_OPTIONS=--import=./scratch/a.mjs node src/app.mjs
    """,
    "scratch.node.test": r"""
        yarn test scratch/a.mjs
        yarn run test scratch/a.mjs
        concurrently 'npm:test scratch/a.mjs'
        npm-run-all "test scratch/a.mjs"
        yarn test scratch/a.mjs x
        yarn run test scratch/a.mjs x
    """,
    "scratch.program": r"""
        ./scratch/run.sh
        scratch/run.sh
        /tmp/run.sh
        nice -n 10 ./scratch/run.sh
        timeout 5 ./scratch/run.sh
        env -i A=1 ./scratch/run.sh
    """,
    "scratch.shell": r"""
        sh scratch/run.sh
        sh -x scratch/run.sh
        . scratch/run.sh
        source scratch/run.sh
        busybox scratch/run.sh
    """,
    "scratch.tool.file": r"""
        vitest scratch/a.mjs
        vitest --config=scratch/a.mjs
        vitest --config scratch/a.mjs
        vitest /tmp/a.test.js
        tsx scratch/a.mjs
        jest --x=/tmp/a.ts
        jest scratch/env
    """,
    "typecheck.program": r"""
        tsc
        node_modules/.bin/tsc
        node_modules/typescript/bin/tsc
        ./tsc
        npx -p typescript tsc
        npx tsc
    """,
    "typecheck.script": r"""
        run-p typecheck
    """,
}
"""Rule to the text of a package script, which is run by its name."""
