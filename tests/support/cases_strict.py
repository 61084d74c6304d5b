"""The closed world in every spelling that its grammars tell apart: what is refused by which rule, and what runs.

One argv a line, as a shell would split it, over the tree of `tests/unit/policy/test_strict_spellings.py`. Behind `=>`
stands the argv that runs; without one it is the argv itself.
"""

from __future__ import annotations

REFUSED: dict[str, str] = {
    "git.alias.shell": r"""
        git -c alias.zz='!ls' zz
    """,
    "git.push.verb": r"""
        git up
    """,
    "launcher.shell": r"""
        npm --version x
        mise --version x
    """,
    "launcher.unlisted": r"""
        pnpm --version x
        pnpm -C src nope
        pnpm nope
        pnpm rum hi
        pnpm urn hi
        pnpm constructor
        mise exec -- ls
    """,
    "mise.trust": r"""
        mise trust
        mise trust x
    """,
    "npm.command": r"""
        npm zzz
    """,
    "scratch.node.file": r"""
        node ../x
        node /tmp/x
    """,
    "scratch.node.test": r"""
        node --test /tmp/x
        node --test src /tmp/x
    """,
    "scratch.package": r"""
        npm --prefix=/tmp run hi
        pnpm -C /tmp hi
    """,
    "strict.git.config": r"""
        git config --list user.name
        git config --get
        git config --get --get-all a
        git config
        git config user.name me
    """,
    "strict.git.folder": r"""
        git -C nested status
        git -C nested/deep status
        git -C bare status
        git -C bare/x status
    """,
    "strict.git.global": r"""
        git -c alias.zz=status zz
        git -c alias.zz='log -1' zz HEAD
        git -c alias.zz=yy -c alias.yy=status zz
        git -c alias.ZZ=status Zz
        git -c alias.zz=zz zz
        git --no-replace-objects=1 log
        git -p log
        git --paginate log
        git --bare log
        git --namespace=x log
        git -c core.abbrev=4 log
        git -c color.uix=1 status
    """,
    "strict.git.operand": r"""
        git --version x
        git stash show 1 2
        git stash pop 1 2
        git stash clear x
        git stash branch a b c
        git worktree list x
        git remote get-url a b
        git config --get a b c
        git symbolic-ref
        git symbolic-ref HEAD x
        git count-objects x
    """,
    "strict.git.option": r"""
        git stash list -h
        git grep x -n
    """,
    "strict.git.path": r"""
        git -C src add ../../x
        git commit -F ../x
        git commit -F /etc/passwd
        git commit --file=../x
        git add ../x
        git add /etc/passwd
        git diff ../x
    """,
    "strict.git.value": r"""
        git log --format=%G?
        git log --pretty=%GK
        git for-each-ref --format=%GS
        git merge -s mine x
    """,
    "strict.git.verb": r"""
        git
        git --html-path
        git -c alias.zz='-C src' zz
        git deep
        git zz -h
        git stash save
        git stash create
        git stash wip
        git reflog expire
        git worktree add x
        git remote show
        git remote x
        git fetch
        git bisect start
        git help log
        git frobnicate
    """,
    "strict.mise.option": r"""
        mise run -j4 hi
        mise run --jobs=x hi
        mise run --jobs= hi
        mise run --jobs=1234 hi
        mise run -j
        mise run --quiet=1 hi
        mise run --zzz hi
        mise run -- hi
        mise tasks info x
        mise ls x
        mise list --json --zzz
    """,
    "strict.mise.task": r"""
        mise run
        mise run -q
        mise run ''
        mise run 'a b'
        mise run //x
        mise run hi ::: other
        mise run hi other :::
    """,
    "strict.mise.verb": r"""
        mise
        mise install
        mise install x
        mise hi
    """,
    "strict.node.changed": r"""
        node --test scratch/changed.mjs
        node scratch/changed.mjs
        node --check scratch/changed.mjs
    """,
    "strict.node.file": r"""
        node
        node src
        node src/nope.mjs
        node nope
        node -
    """,
    "strict.node.option": r"""
        node --version x
        node inspect src/app.mjs
        node debug src/app.mjs
        node --test src -x
        node --expose-gc=1 src/app.mjs
        node -e 1
        node -p 1
        node --eval 1
        node --print 1
        node --zzz src/app.mjs
    """,
    "strict.node.path": r"""
        node --test /usr/lib/x
        node --test src /usr/lib/x
        node /usr/lib/x.js
    """,
    "strict.node.value": r"""
        node --test-reporter=zzz --test src
        node --test-reporter= --test src
        node --test-name-pattern= --test
        node --test-concurrency=x --test
        node --test-isolation=all --test
        node --test-shard=1 --test
        node --unhandled-rejections=x src/app.mjs
        node --max-old-space-size=1x src/app.mjs
    """,
    "strict.package.option": r"""
        npm ls --fund
        npm --no-all ls
        npm --production null ls
        npm --loglevel zzz run hi
        npm --loglevel= run hi
        npm --prefix= run hi
        npm --json run hi
        pnpm run --filter x hi
        pnpm -C '' hi
        pnpm --reporter zzz hi
        pnpm ls --filter x
    """,
    "strict.package.path": r"""
        npm --prefix .. ls
    """,
    "strict.package.verb": r"""
        npm
        npm run
        npm restart
        npm install
        npm ci
        npm install left
        npm exec vitest
        pnpm
        pnpm run
        pnpm install
        pnpm i
        pnpm ci
        pnpm i left
    """,
    "strict.script": r"""
        npm --prefix=src run nope
        npm run nope
        npm run hii
    """,
}
"""By rule, in a run."""

RUNS = r"""
    git version => git --version
    git -v => git --version
    git st => git --no-pager -c core.fsmonitor=false status --short
    git ST -b => git --no-pager -c core.fsmonitor=false status --short --branch
    git log -h
    git stash -h
    git -C src status => git --no-pager -C src -c core.fsmonitor=false -c safe.bareRepository=explicit status
    git -C '' status => git --no-pager -c core.fsmonitor=false status
    git -C . status => git --no-pager -C . -c core.fsmonitor=false status
    git -C src -C .. status => git --no-pager -C src -C .. -c core.fsmonitor=false status
    git -C src -C ../src status => git --no-pager -C src -C ../src -c core.fsmonitor=false -c safe.bareRepository=explicit status
    git -C /workspace/src status => git --no-pager -C /workspace/src -c core.fsmonitor=false -c safe.bareRepository=explicit status
    git -C src add ../src/app.mjs => git --no-pager -C src -c core.fsmonitor=false -c safe.bareRepository=explicit add -- ../src/app.mjs
    git -C headfolder status => git --no-pager -C headfolder -c core.fsmonitor=false -c safe.bareRepository=explicit status
    git --no-optional-locks status => git --no-pager --no-optional-locks -c core.fsmonitor=false status
    git --literal-pathspecs status => git --no-pager --literal-pathspecs -c core.fsmonitor=false status
    git --no-replace-objects log => git --no-pager --no-replace-objects -c core.fsmonitor=false -c log.showSignature=false log --no-ext-diff --no-textconv
    git --no-pager log => git --no-pager -c core.fsmonitor=false -c log.showSignature=false log --no-ext-diff --no-textconv
    git -P log => git --no-pager -c core.fsmonitor=false -c log.showSignature=false log --no-ext-diff --no-textconv
    git -c core.fsmonitor=false status => git --no-pager -c core.fsmonitor=false status
    git -c safe.bareRepository=explicit status => git --no-pager -c core.fsmonitor=false status
    git -c log.showSignature=false log => git --no-pager -c core.fsmonitor=false -c log.showSignature=false log --no-ext-diff --no-textconv
    git -c commit.gpgSign=false commit => git --no-pager -c core.fsmonitor=false -c commit.gpgSign=false commit
    git -c color.ui=always status => git --no-pager -c core.fsmonitor=false -c color.ui=always status
    git -c COLOR.UI=always status => git --no-pager -c core.fsmonitor=false -c COLOR.UI=always status
    git -c core.quotepath=false status => git --no-pager -c core.fsmonitor=false -c core.quotepath=false status
    git -c user.name='a b' -c user.email=c commit => git --no-pager -c core.fsmonitor=false -c commit.gpgSign=false -c 'user.name=a b' -c user.email=c commit
    git -c diff.renames=1 -c log.date=iso log => git --no-pager -c core.fsmonitor=false -c log.showSignature=false -c diff.renames=1 -c log.date=iso log --no-ext-diff --no-textconv
    git -c merge.conflictstyle=diff3 -c advice.detachedHead=false status => git --no-pager -c core.fsmonitor=false -c merge.conflictstyle=diff3 -c advice.detachedHead=false status
    git -c color.ui status => git --no-pager -c core.fsmonitor=false -c color.ui status
    git stash => git --no-pager -c core.fsmonitor=false stash push
    git stash push => git --no-pager -c core.fsmonitor=false stash push
    git stash push src => git --no-pager -c core.fsmonitor=false stash push -- src
    git stash -m x => git --no-pager -c core.fsmonitor=false stash push --message=x
    git stash list => git --no-pager -c core.fsmonitor=false stash list --no-ext-diff --no-textconv
    git stash show => git --no-pager -c core.fsmonitor=false stash show --no-ext-diff --no-textconv --stat
    git stash show 1 => git --no-pager -c core.fsmonitor=false stash show --no-ext-diff --no-textconv --stat 1
    git stash show -p 1 => git --no-pager -c core.fsmonitor=false stash show --no-ext-diff --no-textconv --patch 1
    git stash pop => git --no-pager -c core.fsmonitor=false stash pop
    git stash pop --index => git --no-pager -c core.fsmonitor=false stash pop --index
    git stash drop => git --no-pager -c core.fsmonitor=false stash drop
    git stash clear => git --no-pager -c core.fsmonitor=false stash clear
    git stash branch a b => git --no-pager -c core.fsmonitor=false stash branch a b
    git stash -- x => git --no-pager -c core.fsmonitor=false stash push -- x
    git reflog => git --no-pager -c core.fsmonitor=false -c log.showSignature=false reflog show --no-ext-diff --no-textconv
    git reflog main => git --no-pager -c core.fsmonitor=false -c log.showSignature=false reflog show --no-ext-diff --no-textconv main
    git reflog show main => git --no-pager -c core.fsmonitor=false -c log.showSignature=false reflog show --no-ext-diff --no-textconv main
    git reflog -3 => git --no-pager -c core.fsmonitor=false -c log.showSignature=false reflog show --no-ext-diff --no-textconv --max-count=3
    git worktree => git --no-pager -c core.fsmonitor=false worktree list
    git worktree list => git --no-pager -c core.fsmonitor=false worktree list
    git remote => git --no-pager -c core.fsmonitor=false remote
    git remote -v => git --no-pager -c core.fsmonitor=false remote --verbose
    git remote get-url origin => git --no-pager -c core.fsmonitor=false remote get-url origin
    git remote get-url --push origin => git --no-pager -c core.fsmonitor=false remote get-url --push origin
    git rev-list HEAD => git --no-pager -c core.fsmonitor=false -c log.showSignature=false rev-list HEAD
    git config user.name => git --no-pager -c core.fsmonitor=false config --get user.name
    git config --get user.name => git --no-pager -c core.fsmonitor=false config --get user.name
    git config --get-all user.name => git --no-pager -c core.fsmonitor=false config --get-all user.name
    git config --get-regexp user => git --no-pager -c core.fsmonitor=false config --get-regexp user
    git config --list => git --no-pager -c core.fsmonitor=false config --list
    git config -l => git --no-pager -c core.fsmonitor=false config --list
    git config --get user.name x => git --no-pager -c core.fsmonitor=false config --get user.name x
    git config -- user.name => git --no-pager -c core.fsmonitor=false config --get -- user.name
    git config --local user.name => git --no-pager -c core.fsmonitor=false config --get --local user.name
    git config --type=bool --get core.bare => git --no-pager -c core.fsmonitor=false config --type=bool --get core.bare
    git symbolic-ref HEAD => git --no-pager -c core.fsmonitor=false symbolic-ref HEAD
    git symbolic-ref -q --short HEAD => git --no-pager -c core.fsmonitor=false symbolic-ref --quiet --short HEAD
    git log --format=%H => git --no-pager -c core.fsmonitor=false -c log.showSignature=false log --no-ext-diff --no-textconv --format=%H
    git log --format=%g => git --no-pager -c core.fsmonitor=false -c log.showSignature=false log --no-ext-diff --no-textconv --format=%g
    git ls-files --format=x => git --no-pager -c core.fsmonitor=false ls-files --format=x
    git log --grep=%G => git --no-pager -c core.fsmonitor=false -c log.showSignature=false log --no-ext-diff --no-textconv --grep=%G
    git commit -F src/app.mjs => git --no-pager -c core.fsmonitor=false -c commit.gpgSign=false commit --file=src/app.mjs
    git commit -m a -m b => git --no-pager -c core.fsmonitor=false -c commit.gpgSign=false commit --message=a --message=b
    git commit -am x => git --no-pager -c core.fsmonitor=false -c commit.gpgSign=false commit --all --message=x
    git commit --amend --no-edit => git --no-pager -c core.fsmonitor=false -c commit.gpgSign=false commit --amend --no-edit
    git add src => git --no-pager -c core.fsmonitor=false add -- src
    git add -- -x => git --no-pager -c core.fsmonitor=false add -- -x
    git add src/../app => git --no-pager -c core.fsmonitor=false add -- src/../app
    git add /workspace/src => git --no-pager -c core.fsmonitor=false add -- /workspace/src
    git show HEAD:../x => git --no-pager -c core.fsmonitor=false -c log.showSignature=false show --no-ext-diff --no-textconv HEAD:../x
    git show HEAD:src/app.mjs => git --no-pager -c core.fsmonitor=false -c log.showSignature=false show --no-ext-diff --no-textconv HEAD:src/app.mjs
    git show /x:y => git --no-pager -c core.fsmonitor=false -c log.showSignature=false show --no-ext-diff --no-textconv /x:y
    git show a..b => git --no-pager -c core.fsmonitor=false -c log.showSignature=false show --no-ext-diff --no-textconv a..b
    git diff src/.. HEAD => git --no-pager -c core.fsmonitor=false diff --no-ext-diff --no-textconv src/.. HEAD
    git diff -- src => git --no-pager -c core.fsmonitor=false diff --no-ext-diff --no-textconv -- src
    git diff HEAD -- src tests => git --no-pager -c core.fsmonitor=false diff --no-ext-diff --no-textconv HEAD -- src tests
    git diff => git --no-pager -c core.fsmonitor=false diff --no-ext-diff --no-textconv
    git diff --stat => git --no-pager -c core.fsmonitor=false diff --no-ext-diff --no-textconv --stat
    git diff --no-ext-diff => git --no-pager -c core.fsmonitor=false diff --no-ext-diff --no-textconv
    git log --no-textconv -1 => git --no-pager -c core.fsmonitor=false -c log.showSignature=false log --no-ext-diff --no-textconv --max-count=1
    git log -- => git --no-pager -c core.fsmonitor=false -c log.showSignature=false log --no-ext-diff --no-textconv --
    git log -- src => git --no-pager -c core.fsmonitor=false -c log.showSignature=false log --no-ext-diff --no-textconv -- src
    git log main -- src -x => git --no-pager -c core.fsmonitor=false -c log.showSignature=false log --no-ext-diff --no-textconv main -- src -x
    git checkout -- src => git --no-pager -c core.fsmonitor=false checkout -- src
    git checkout main -- => git --no-pager -c core.fsmonitor=false checkout main --
    git rm --cached src/app.mjs => git --no-pager -c core.fsmonitor=false rm --cached -- src/app.mjs
    git clean -nd => git --no-pager -c core.fsmonitor=false clean --dry-run -d
    git blame src/app.mjs => git --no-pager -c core.fsmonitor=false blame --no-textconv src/app.mjs
    git blame --no-textconv src/app.mjs => git --no-pager -c core.fsmonitor=false blame --no-textconv src/app.mjs
    git grep -n x src => git --no-pager -c core.fsmonitor=false grep --no-textconv --line-number x src
    git grep -e x -- src => git --no-pager -c core.fsmonitor=false grep --no-textconv -ex -- src
    git tag => git --no-pager -c core.fsmonitor=false -c tag.gpgSign=false -c tag.forceSignAnnotated=false tag
    git tag -l => git --no-pager -c core.fsmonitor=false -c tag.gpgSign=false -c tag.forceSignAnnotated=false tag --list
    git tag v1 => git --no-pager -c core.fsmonitor=false -c tag.gpgSign=false -c tag.forceSignAnnotated=false tag v1
    git tag -m x v1 => git --no-pager -c core.fsmonitor=false -c tag.gpgSign=false -c tag.forceSignAnnotated=false tag --message=x v1
    git branch -a => git --no-pager -c core.fsmonitor=false branch --all
    git branch --contains => git --no-pager -c core.fsmonitor=false branch --contains=HEAD
    git branch --contains main => git --no-pager -c core.fsmonitor=false branch --contains=main
    git merge -s ours x => git --no-pager -c core.fsmonitor=false -c commit.gpgSign=false merge --strategy=ours x
    git rebase main => git --no-pager -c core.fsmonitor=false -c commit.gpgSign=false rebase main
    git rebase --onto a b => git --no-pager -c core.fsmonitor=false -c commit.gpgSign=false rebase --onto=a b
    git count-objects => git --no-pager -c core.fsmonitor=false count-objects
    git merge-base a b => git --no-pager -c core.fsmonitor=false merge-base a b
    git ls-tree HEAD => git --no-pager -c core.fsmonitor=false ls-tree HEAD
    git cat-file -p HEAD => git --no-pager -c core.fsmonitor=false cat-file -p HEAD
    git describe --tags => git --no-pager -c core.fsmonitor=false describe --tags
    git shortlog -sn => git --no-pager -c core.fsmonitor=false shortlog --summary --numbered
    git show-ref --heads => git --no-pager -c core.fsmonitor=false show-ref --heads
    git check-ignore -v x => git --no-pager -c core.fsmonitor=false check-ignore --verbose -- x
    git reset --hard => git --no-pager -c core.fsmonitor=false reset --hard
    git revert HEAD => git --no-pager -c core.fsmonitor=false -c commit.gpgSign=false revert HEAD
    git cherry-pick x => git --no-pager -c core.fsmonitor=false -c commit.gpgSign=false cherry-pick x
    git switch -c x => git --no-pager -c core.fsmonitor=false switch --create=x
    git restore src => git --no-pager -c core.fsmonitor=false restore -- src
    git mv src/app.mjs src/b.mjs => git --no-pager -c core.fsmonitor=false mv -- src/app.mjs src/b.mjs
    npm -v => npm --version
    npm --version
    npm ls
    npm list => npm ls
    npm ll => npm ls
    npm la => npm ls
    npm ls left => npm ls -- left
    npm ls -- left
    npm ls --depth=0 => npm --depth=0 ls
    npm ls --all --long --parseable --json => npm --all --long --parseable --json ls
    npm --prod ls => npm --production ls
    npm ls --json=x => npm --json ls -- x
    npm ls --omit=dev => npm --omit=dev ls
    npm ls --omit dev --omit optional => npm --omit=dev --omit=optional ls
    npm --all=false ls
    npm run hi
    npm run hi x => npm run hi -- x
    npm run hi -- x
    npm run hi -- => npm run hi
    npm run hi --if-present => npm --if-present run hi
    npm run hi --silent => npm --loglevel=silent run hi
    npm --silent run hi => npm --loglevel=silent run hi
    npm -s run hi => npm --loglevel=silent run hi
    npm -q run hi => npm --loglevel=warn run hi
    npm --loglevel=warn run hi
    npm --loglevel=verbose run hi
    npm --prefix=src run hi
    npm --prefix src ls => npm --prefix=src ls
    npm test => npm run test
    npm t x => npm run test -- x
    npm tst => npm run test
    npm start => npm run start
    npm stop => npm run stop
    pnpm -v => pnpm --version
    pnpm --version
    pnpm hi => pnpm run hi
    pnpm hi x --y => pnpm run hi x --y
    pnpm hi -- x => pnpm run hi -- x
    pnpm run hi
    pnpm run hi x
    pnpm run hi -- x
    pnpm run hi -- => pnpm run hi
    pnpm run --silent hi => pnpm --reporter=silent run hi
    pnpm --silent run hi => pnpm --reporter=silent run hi
    pnpm -s hi => pnpm --reporter=silent run hi
    pnpm run-script hi => pnpm run hi
    pnpm run -C src hi => pnpm --dir=src run hi
    pnpm -C src hi => pnpm --dir=src run hi
    pnpm --dir src run hi => pnpm --dir=src run hi
    pnpm -C src -C . hi => pnpm --dir=src --dir=. run hi
    pnpm --reporter=ndjson hi => pnpm --reporter=ndjson run hi
    pnpm test => pnpm run test
    pnpm t => pnpm run test
    pnpm tst x => pnpm run test x
    pnpm start => pnpm run start
    pnpm stop => pnpm run stop
    pnpm ls
    pnpm list => pnpm ls
    pnpm la => pnpm ls
    pnpm ll left => pnpm ls -- left
    pnpm ls --depth 0 => pnpm --depth=0 ls
    pnpm ls --json --long => pnpm --json --long ls
    pnpm ls -r => pnpm --recursive ls
    pnpm ls --prod => pnpm --production ls
    pnpm ls -P => pnpm --production ls
    pnpm -P ls => pnpm --production ls
    pnpm ls -D => pnpm --dev ls
    pnpm -- hi => pnpm run hi
    pnpm -- ls => pnpm ls
    node -v => node --version
    node --version
    node src/app => node src/app.mjs
    node src/app.mjs -x
    node ./src/app.mjs => node src/app.mjs
    node /workspace/src/app.mjs => node src/app.mjs
    node -- src/app.mjs => node src/app.mjs
    node --test
    node --test src
    node --test src tests
    node --test src/app.mjs
    node src/changed.mjs
    node -c src/app.mjs => node --check src/app.mjs
    node --test-only --test src
    node --expose-gc src/app.mjs
    node --expose_gc src/app.mjs => node --expose-gc src/app.mjs
    node --test-reporter=tap --test src
    node --test-reporter tap --test src => node --test-reporter=tap --test src
    node --test-name-pattern=x --test
    node --test-concurrency=4 --test
    node --test-timeout=1000 --test
    node --test-isolation=none --test
    node --test-shard=1/2 --test
    node --unhandled-rejections=strict src/app.mjs
    node --max-old-space-size=100 src/app.mjs
    node --stack-trace-limit=5 src/app.mjs
    mise run hi
    mise r hi => mise run hi
    mise run hi -x y
    mise run -q hi => mise run --quiet hi
    mise run -S -n -f -c hi => mise run --silent --dry-run --force --continue-on-error hi
    mise run --silent --no-timings hi
    mise run --continue-on-error hi
    mise run -j 4 hi => mise run --jobs=4 hi
    mise run -j=4 hi => mise run --jobs=4 hi
    mise run --jobs=12 hi
    mise run --jobs 12 hi => mise run --jobs=12 hi
    mise run _x
    mise run a:b/c.d@1
    mise run made
    mise run made:deep
    mise tasks
    mise tasks ls => mise tasks
    mise tasks list => mise tasks
    mise tasks ls --json => mise tasks --json
    mise tasks list --hidden => mise tasks --hidden
    mise tasks run hi => mise run hi
    mise tasks r hi => mise run hi
    mise task run hi => mise run hi
    mise t r hi => mise run hi
    mise t => mise tasks
    mise task => mise tasks
    mise ls
    mise list => mise ls
    mise ls --current --installed --missing --no-header
    mise version
    mise -v => mise version
    mise --version => mise version
    pnpm ls -- left
    npm ls --all true => npm --all ls
    npm ls --json false => npm --json=false ls
"""
"""In a run."""

REFUSED_AT_SET_UP: dict[str, str] = {
    "strict.git.config": r"""
        git config a.b c d
    """,
    "strict.mise.verb": r"""
        mise install x
        mise trust x
    """,
    "strict.package.option": r"""
        npm install --zzz
        pnpm install --force
    """,
    "strict.package.verb": r"""
        npm install left
        npm ci -- left
        npm view x
        pnpm i left
        pnpm add x
    """,
}
"""By rule, while the clone is set up."""

RUNS_AT_SET_UP = r"""
    npm install
    npm ci
    npm install --fund => npm --fund install
    npm ci --offline --no-audit => npm --offline --no-audit ci
    npm --prefix=src ci
    npm ls
    pnpm install
    pnpm i => pnpm install
    pnpm ci => pnpm install
    pnpm install --frozen-lockfile --offline => pnpm --frozen-lockfile --offline install
    pnpm install --prod=false => pnpm --production=false install
    pnpm i -P => pnpm --production install
    pnpm hi => pnpm run hi
    npm run hi
    mise install
    mise trust
    mise run made
    mise tasks
    git config a.b c => git --no-pager -c core.fsmonitor=false config a.b c
    git config a.b => git --no-pager -c core.fsmonitor=false config --get a.b
    git config core.hooksPath .githooks => git --no-pager -c core.fsmonitor=false config core.hooksPath .githooks
    node scratch/changed.mjs
    node --test scratch/changed.mjs
"""
"""While the clone is set up."""
