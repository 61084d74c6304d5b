"""Which rule decides git's words, in every spelling that its judges tell apart.

One argv a line, as a shell would split it, over the tree of `tests/unit/policy/test_argv_rule_ids.py`. What runs stands
under `argv.default`: near misses of the rest.
"""

from __future__ import annotations

GIT: dict[str, str] = {
    "argv.default": r"""
        git svn fetch
        git p4 sync
        git lfs pull
        git log ext::x
        git filter-branch --SETUP x
        git filter-branch --subdirectory-filter x
        git filter-branch x-filter
        git filter-branch --x-filtered y
        git merge-index
        git merge-index -o
        git merge-index -q
        git merge-index -o -q git-merge-one-file -a
        git bisect visualize run
        git for-each-repo --config x
        git for-each-repo --config=x status
        git submodule status foreachx
        git commit -mn
        git commit -m -n
        git merge -n x
        git clone -c user.name=x . y
        git log --ou=x
        git diff --ex
        git --exec-path
        git -c core.hooksPathx=y status
        git --config-env=core.pager=HOME=x log
        git --config-env=user.name=X log
        git -C .git status
        git -C src -C .. status
        git -C src --git-dir=../.git log
        git -C scratch status
        git -C scratch --git-dir=../.git zz
        git --git-dir= zz
        git --bare status
        git -C scratch filter-branch x
        git -C scratch submodule status
        git -C . zz
        git -C '' zz
        git -C /workspace zz
        git --git-dir=.git zz
        git --git-dir=/workspace/.git zz
        git -C scratch -c alias.zz=status zz
        git -c alias.zz=zz zz
        git -c alias.zz="'open" zz
        git -c alias.zz= zz
        git -c alias.zz zz
        git config alias.zz 'log -1'
        git config alias.zz ''
        git config alias.zz yy
        git --help push
        git push --help
        git push -h
        git -h push
        git --version push
        git -v push
        git --html-path push
        git --list-cmds=main push
        git --shallow-file push
        git --work-tree push
        git -c push
        git log a.git/hooks
        git log .git/hooksx
        git config -l
        git config --list
        git config --lis core.hooksPath x
        git config --get core.hooksPath
        git config get core.hooksPath
        git config list core.hooksPath x
        git config --unset user.name
        git config --unset core.pager
        git config core.hooksPath
        git config core.hooksPath=x
        git config --replace-all user.name x
        git config --rename-section a b
        git config --remove-section user
        git config
        git config --local
        git config --lo core.hooksPath
        git config --type bool core.pager
        git config --get-regexp core
        git config help.autoCorrect prompt
        git config help.autocorrect 0
        git config help.autocorrect NEVER
        git config include.path ''
        git config core.pager cat
        git config core.pager CAT
        git config core.pager ' cat '
        git config core.editor :
        git config core.editor true
        git config pager.log true
        git config protocol.allow never
        git config protocol.allow user
        git config protocol.ext.allow never
        git config protocol.ext.allow user
        git config protocol.FILE.allow always
        git config protocol.https.allow always
        git config submodule.x.update merge
        git config remote.x.url https://h/x
        git config core.worktree src
        git config a
        git config a b
        git config --get core.hooksPath x
        git config --get-all core.hooksPath x
        git config -l core.hooksPath x
        git config --un core.hooksPath
        git config unset core.pager
        git config --list --get core.hooksPath x
    """,
    "git.address.helper": r"""
        git fetch ext::x
        git fetch FD::17
        git fetch --x=ext::x
        git clone --reference=fd::3 x
        git pull ext::x
        git ls-remote ext::x
        git submodule--helper add ext::x
    """,
    "git.alias.elsewhere": r"""
        git -C scratch zz
        git --git-dir=src zz
        git --bare zz
    """,
    "git.alias.shell": r"""
        git -c alias.zz='!ls' zz
        git config alias.zz '!ls'
    """,
    "git.alias.unreadable": r"""
        git --config-env=alias.zz=X zz
    """,
    "git.alias.value": r"""
        git -c alias.zz='log --output=x' zz
        git -c alias.zz='-C scratch yy' zz
        git config alias.zz 'log --output=x'
    """,
    "git.config.autocorrect": r"""
        git config help.autocorrect 1
        git config help.autocorrect immediate
        git config --add help.autocorrect
    """,
    "git.config.edit": r"""
        git config --edit
        git config -e
        git config --ed
        git config --e
        git config edit
        git config -e core.hooksPath
    """,
    "git.config.include": r"""
        git config include.path x
        git config include.path src/app.mjs
        git config include.path scratch/hooks.cfg
        git config includeIf.onbranch:x.path src/app.mjs
        git config --add include.path
    """,
    "git.config.program": r"""
        git clone --conf core.pager=x . y
        git --config-env core.pager=X log
        git config --file x core.pager y
        git config core.pager less
        git config --add core.pager
        git config core.editor vim
        git config pager.log less
        git config diff.x.command y
        git config protocol.allow always
        git config protocol.ext.allow always
        git config protocol.EXT.allow always
        git config submodule.x.update '!ls'
        git config --add submodule.x.update
        git config remote.x.url ext::y
        git config remote.x.pushurl fd::3
        git config --add remote.x.url
        git config submodule.x.url ext::y
        git config hook.x.command ls
        git config web.browser x
        git config guitool.x.cmd y
    """,
    "git.config.section": r"""
        git config --rename-section a alias
        git config --rename-section alias.x a
        git config --rename-section a filter.x
        git config --remove-section pager
        git config rename-section a include
        git config remove-section includeIf.x
        git config --ren a protocol
    """,
    "git.config.worktree": r"""
        git config core.worktree ..
        git config --add core.worktree
    """,
    "git.exec-path": r"""
        git --exec-path=/x status
        git --exec-path=scratch
    """,
    "git.hooks.config": r"""
        git clone -c core.hooksPath=x . y
        git clone -ccore.hooksPath=x . y
        git clone --config=core.hooksPath . y
        git -c core.hooksPath=x status
        git -c core.hookspath status
        git -c CORE.HOOKSPATH= status
        git --config-env=core.hooksPath=X status
        git -c alias.zz='-c core.hooksPath=x status' zz
        git config set core.hooksPath x
        git config unset core.hooksPath
        git config --unset core.hooksPath
        git config --unset-all core.hooksPath
        git config --uns core.hooksPath
        git config core.hooksPath x
        git config --add core.hooksPath x
        git config --ad core.hooksPath
        git config --add core.hooksPath
        git config --replace-all core.hooksPath x
        git config --rep core.hooksPath
        git config --rename-section a core
        git config --rename-section core a
        git config --remove-section core
        git config --remove-section CORE.x
        git config --rem core
        git config -f .git/config core.hooksPath x
        git config --li core.hooksPath x
        git config --un core.hooksPath x
        git config --replace core.hooksPath
    """,
    "git.hooks.option": r"""
        git filter-branch --tree-filter 'git commit -n' HEAD
        git for-each-repo --config x commit -n
        git submodule foreach 'git commit -n'
        git commit -n -m x
        git commit --no-ver -m x
        git commit --no-v
        git commit -anm x
        git commit --no-post-rewrite --amend
        git am -n x
        git am --no-verify x
        git merge --no-verify x
        git cherry-pick --no-verify x
        git revert --no-verify x
        git pull --no-verify
        git rebase --no-verify x
        git rebase -x 'git commit -n' x
        git -c alias.zz='commit -n' zz
        git -c alias.zz=' !git commit -n' zz
        git -c alias.zz=commit zz -n
        git config alias.zz 'commit -n'
    """,
    "git.hooks.path": r"""
        git --work-tree .git checkout x
        git --work-tree=.git/hooks checkout x
        git -C .git --work-tree=. checkout x
        git -C .git/info --work-tree . checkout x
        git --git-dir=.git/hooks log
        git --work-tree=src/.git status
        git status .git/hooks
        git add .git/hooks/pre-commit
        git mv x .git/hooks/y
        git log --x=.git/hooks
        git log .GIT/hooks
        git log .git//hooks
        git log .git/./hooks/x
        git log a/.git/hooks
        git checkout-index --prefix=.git/hooks/ -a
        git config core.worktree .git
        git config core.worktree .git/hooks
        git config core.worktree src/.git
        git config core.worktree .git/x
    """,
    "git.option.output": r"""
        git log --output=x
        git log --outp=x
        git format-patch -o x
        git archive -ox HEAD
        git bugreport -o x
        git diagnose -ox
        git mailsplit -ox y
        git read-tree --index-output=x HEAD
        git checkout-index --prefix=/tmp/ -a
        git fast-export --export-marks=x HEAD
        git fast-import --export-pack-edges=x
        git zz --output=x
    """,
    "git.option.program": r"""
        git diff --ext-diff
        git diff --ext
        git difftool -x y
        git difftool --gui
        git mergetool -t x
        git init --template=x
        git init-db --temp x
        git help -w git
        git help --web git
        git fetch --upload-pack=x .
        git fetch --up x .
        git ls-remote --exec=x .
        git grep -Oless x
        git grep --open-files-in-pager x
    """,
    "git.option.shell": r"""
        git filter-branch --setup ls HEAD
        git filter-branch --setup
        git filter-branch --env-filter
        git filter-branch --index-filter ls
        git submodule foreach ls
        git submodule foreach
        git submodule--helper foreach ls
        git rebase -x ls x
        git rebase --exec=ls x
        git rebase -x
    """,
    "git.path.outside": r"""
        git -C /tmp status
        git -C src/../.. status
        git --git-dir=/tmp/x log
        git --git-dir /tmp/x log
        git --work-tree=/etc status
        git -C src -C ../.. status
        git -c alias.zz='-C /tmp status' zz
    """,
    "git.push.verb": r"""
        git push
        git send-pack . main
        git http-push x
        git receive-pack .
        git remote-https x
        git subtree push x
        git svn dcommit
        git svn set-tree x
        git p4 submit
        git lfs push x
        git annex sync
        git annex copy x
        git filter-branch --setup 'git push' HEAD
        git filter-branch --msg-filter 'git push' HEAD
        git bisect run -- git push
        git for-each-repo --config=x push
        git for-each-repo --config x push
        git submodule foreach git push
        git submodule foreach --recursive git push
        git submodule --quiet foreach git push
        git rebase --exec 'git push' x
        git clone --config alias.x=push . y
        git -C scratch -c alias.zz=push zz
        git -c alias.zz=push zz
        git -c alias.ZZ=push zz
        git -c alias.zz=push ZZ
        git -c alias.zz='!git push' zz
        git -c alias.zz=yy -c alias.yy=push zz
        git -c alias.log=push log
        git config alias.zz push
        git config alias.zz '!git push'
        git push -h x
        git push x --help
        git --literal-pathspecs push
        git --namespace x push
        git --namespace=x push
        git --super-prefix x push
        git --attr-source x push
        git --shallow-file x push
        git -p push
        git -c x=y push
        git filter-branch --tree-filter 'git push'
        git config alias.zz ' !git push'
    """,
    "git.verb.path": r"""
        git /../scratch/x
        git a/b
    """,
    "git.verb.program": r"""
        git remote-ext x
        git remote-fd x
        git shell
        git daemon
        git gui
        git merge-index -o scratch/run.sh -a
        git merge-index scratch/run.sh
        git merge-index GIT-MERGE-ONE-FILE
    """,
    "launcher.shell": r"""
        git bisect run sh -c x
        git bisect run
    """,
    "launcher.unlisted": r"""
        git bisect --bisect-run ls
        git bisect--helper --bisect-run ls
    """,
    "scratch.git-dir": r"""
        git -C scratch/fake status
        git --git-dir=scratch/fake log
        git --git-dir=scratch/fake/ log
    """,
    "scratch.node.file": r"""
        git bisect run -- node scratch/a.mjs
        git bisect--helper run node scratch/a.mjs
    """,
}
"""Rule to command lines."""
