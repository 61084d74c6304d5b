"""The git verbs of the closed world, each with the options that an agent's work needs. Checked against git 2.39.

Left out on purpose: whatever opens an editor or asks (`-p`, `-i`, `-e`), reads patterns, messages or templates from
files elsewhere, signs or checks signatures (a program of the configuration), and whatever needs a network.
"""

from __future__ import annotations

from runner.policy.strict_git_options import Verb, verb

__all__ = ["DEFAULT_SUBVERBS", "SUBVERBS", "VERBS", "WHY_NOT"]

_NO_PROGRAMS = ("--no-ext-diff", "--no-textconv")
_NO_SIGNING = ("commit.gpgSign=false",)
_NO_SIGNATURES = ("log.showSignature=false",)

_DIFF = """
    patch|p|u no-patch|s unified|U:? raw numstat shortstat stat:? dirstat:? compact-summary summary name-only
    name-status patch-with-stat patch-with-raw check full-index binary find-renames|M:? find-copies|C:?
    find-copies-harder no-renames break-rewrites|B:? irreversible-delete|D diff-filter: pickaxe-all pickaxe-regex |S:
    |G: text|a ignore-all-space|w ignore-space-change|b ignore-space-at-eol ignore-cr-at-eol ignore-blank-lines
    ignore-matching-lines|I: function-context|W minimal patience histogram
    diff-algorithm:{default,myers,minimal,patience,histogram} word-diff:? word-diff-regex: color-words:? color!:?
    color-moved!:? relative!:? inter-hunk-context:# src-prefix: dst-prefix: no-prefix no-ext-diff no-textconv |z |R
    ignore-submodules:? indent-heuristic! find-object: abbrev!:?
"""
_LOG = """
    max-count|n:# skip:# since: after: until: before: author: committer: grep: invert-grep all-match
    regexp-ignore-case|i extended-regexp|E fixed-strings|F perl-regexp|P basic-regexp merges no-merges
    min-parents:= max-parents:= first-parent all branches:? tags:? remotes:? glob: exclude: not reverse
    topo-order date-order author-date-order date: pretty:? format:= oneline abbrev-commit! graph left-right
    cherry-pick cherry-mark cherry left-only right-only boundary simplify-by-decoration full-history
    ancestry-path follow |L: walk-reflogs|g parents children no-walk:? relative-date notes!:? |m |c cc
    diff-merges:= quiet|q |r |t
"""


def _glued(text: str) -> str:
    """The same grammar where no value is the next word: `git stash show` takes each other word for a stash."""
    return " ".join(word + "=" if word.endswith(":") else word for word in text.split())


def _history(text: str) -> Verb:
    return verb(
        text,
        abbreviates=False,
        bundles=False,
        count="max-count",
        forced=_NO_PROGRAMS,
        pins=_NO_SIGNATURES,
    )


_SHOWN = " decorate!:? decorate-refs: source mailmap! use-mailmap!"

_SEQUENCER = """
    edit|e! signoff|s! mainline|m:# strategy:{ort,recursive,resolve,octopus,ours,subtree} strategy-option|X: continue
    abort skip quit cleanup:{strip,whitespace,verbatim,scissors,default} no-commit|n commit rerere-autoupdate!
"""
_LISTED = """
    contains:l no-contains:l merged:l no-merged:l sort: format: ignore-case|i column!:? color!:?
"""

VERBS: dict[str, Verb] = {
    "status": verb(
        "short|s branch|b show-stash! porcelain:? long verbose|v untracked-files|u:? ignored:? null|z column!:? "
        "renames! find-renames:? ahead-behind! ignore-submodules:?",
        paths=True,
    ),
    "diff": verb(
        _DIFF + "cached staged merge-base exit-code quiet ours theirs base cc |c",
        abbreviates=False,
        bundles=False,
        forced=_NO_PROGRAMS,
    ),
    "log": _history(_LOG + _DIFF + _SHOWN),
    "show": _history(_LOG + _DIFF + _SHOWN),
    "reflog show": _history(_LOG + _DIFF + _SHOWN),
    "rev-list": verb(
        _LOG + "count objects timestamp abbrev!:? header no-object-names disk-usage",
        abbreviates=False,
        bundles=False,
        count="max-count",
        pins=_NO_SIGNATURES,
    ),
    "rev-parse": verb(
        "verify quiet|q short:? abbrev-ref:? symbolic symbolic-full-name show-toplevel show-prefix show-cdup git-dir "
        "absolute-git-dir git-common-dir is-inside-work-tree is-inside-git-dir is-bare-repository "
        "is-shallow-repository all branches:? tags:? remotes:? not revs-only no-revs flags no-flags",
        abbreviates=False,
        bundles=False,
    ),
    "add": verb(
        "dry-run|n verbose|v force|f update|u all|A! ignore-removal! intent-to-add|N refresh ignore-errors "
        "ignore-missing renormalize chmod:{+x,-x}",
        "interactive patch edit sparse warn-embedded-repo pathspec-from-file pathspec-file-nul",
        paths=True,
    ),
    "restore": verb(
        "source|s: staged|S worktree|W ignore-unmerged overlay! quiet|q progress! merge|m "
        "conflict:{merge,diff3,zdiff3} ours|2 theirs|3 ignore-skip-worktree-bits",
        "recurse-submodules patch pathspec-from-file pathspec-file-nul",
        paths=True,
    ),
    "rm": verb(
        "dry-run|n quiet|q cached force|f |r ignore-unmatch", "sparse pathspec-from-file pathspec-file-nul", paths=True
    ),
    "mv": verb("verbose|v dry-run|n force|f |k", "sparse", paths=True),
    "clean": verb("quiet|q dry-run|n force|f |d |x |X exclude|e:", "interactive", paths=True),
    "commit": verb(
        "all|a amend message|m: file|F:@ author: date: reuse-message|C: reset-author signoff|s! allow-empty "
        "allow-empty-message only|o include|i quiet|q verbose|v! dry-run short branch ahead-behind! porcelain long "
        "null|z untracked-files|u!:? edit|e! cleanup:{strip,whitespace,verbatim,scissors,default} status! "
        "fixup: squash:",
        "reedit-message trailer template gpg-sign interactive patch no-verify verify no-post-rewrite post-rewrite "
        "pathspec-from-file pathspec-file-nul",
        paths=True,
        pins=_NO_SIGNING,
    ),
    "switch": verb(
        "create|c: force-create|C: guess! discard-changes quiet|q progress! merge|m conflict:{merge,diff3,zdiff3} "
        "detach|d track|t!:? force|f orphan: overwrite-ignore! ignore-other-worktrees",
        "recurse-submodules",
    ),
    "checkout": verb(
        "|b: |B: |l guess! overlay! quiet|q progress! merge|m conflict:{merge,diff3,zdiff3} detach|d "
        "track|t!:? force|f orphan: overwrite-ignore! ignore-other-worktrees ours|2 theirs|3 ignore-skip-worktree-bits",
        "recurse-submodules patch pathspec-from-file pathspec-file-nul",
    ),
    "branch": verb(
        _LISTED
        + "verbose|v quiet|q track|t!:? set-upstream-to|u: unset-upstream remotes|r all|a delete|d |D move|m |M "
        "copy|c |C list|l show-current create-reflog force|f points-at: abbrev!:?",
        "set-upstream with without edit-description recurse-submodules",
    ),
    "tag": verb(
        _LISTED + "list|l |n:? delete|d annotate|a message|m: file|F:@ force|f create-reflog points-at:l "
        "cleanup:{strip,whitespace,verbatim}",
        "verify edit sign local-user with without",
        pins=("tag.gpgSign=false", "tag.forceSignAnnotated=false"),
    ),
    "rebase": verb(
        "onto: keep-base continue abort skip quit root autosquash! autostash! rebase-merges|r!:? strategy|s:"
        "{ort,recursive,resolve,octopus,ours,subtree} strategy-option|X: fork-point! reapply-cherry-picks! keep-empty! "
        "empty:{drop,keep,ask} quiet|q verbose|v stat no-stat|n force-rebase|f no-ff ff signoff! "
        "committer-date-is-author-date ignore-date reset-author-date ignore-whitespace "
        "whitespace:{nowarn,warn,fix,error,error-all} update-refs! merge|m apply rerere-autoupdate! "
        "show-current-patch",
        "no-verify verify edit-todo interactive preserve-merges gpg-sign exec allow-empty-message "
        "reschedule-failed-exec",
        pins=_NO_SIGNING,
    ),
    "merge": verb(
        "squash! ff! ff-only commit! edit|e! message|m: file|F:@ "
        "strategy|s:{ort,recursive,resolve,octopus,ours,subtree} strategy-option|X: abort quit continue "
        "quiet|q verbose|v stat! |n log!:? signoff! allow-unrelated-histories "
        "autostash! into-name: cleanup:{strip,whitespace,verbatim,scissors,default} progress! rerere-autoupdate!",
        "summary verify-signatures gpg-sign overwrite-ignore no-verify verify",
        pins=_NO_SIGNING,
    ),
    "cherry-pick": verb(
        _SEQUENCER + "|x ff! allow-empty! allow-empty-message! keep-redundant-commits!",
        abbreviates=False,
        pins=_NO_SIGNING,
    ),
    "revert": verb(_SEQUENCER + "reference!", abbreviates=False, pins=_NO_SIGNING),
    "reset": verb(
        "quiet|q mixed soft hard merge keep intent-to-add|N refresh!",
        "recurse-submodules patch pathspec-from-file pathspec-file-nul",
    ),
    "stash push": verb(
        "keep-index|k! staged|S quiet|q include-untracked|u all|a message|m:",
        "patch pathspec-from-file pathspec-file-nul",
        paths=True,
    ),
    "stash list": verb(
        "max-count|n:# stat:? oneline date: format:= pretty:? name-only name-status",
        abbreviates=False,
        bundles=False,
        count="max-count",
        forced=_NO_PROGRAMS,
    ),
    "stash show": verb(
        _glued(_DIFF.replace("patch|p|u", "patch|p")) + " include-untracked|u! only-untracked",
        abbreviates=False,
        bundles=False,
        most=1,
        forced=_NO_PROGRAMS,
        usual=("--stat",),
    ),
    "stash pop": verb("quiet|q index", most=1),
    "stash apply": verb("quiet|q index", most=1),
    "stash drop": verb("quiet|q", most=1),
    "stash clear": verb("", most=0),
    "stash branch": verb("", most=2),
    "ls-files": verb(
        "cached|c deleted|d modified|m others|o ignored|i stage|s killed|k directory eol empty-directory! unmerged|u "
        "exclude|x: exclude-standard full-name error-unmatch with-tree: abbrev:? deduplicate |z |t |v format:",
        "resolve-undo exclude-from exclude-per-directory recurse-submodules debug sparse",
        paths=True,
    ),
    "ls-tree": verb("|d |r |t |z long|l name-only name-status object-only full-name full-tree format: abbrev:?"),
    "cat-file": verb(
        "|t |s |e |p",
        "allow-unknown-type use-mailmap mailmap batch batch-check batch-command batch-all-objects buffer "
        "follow-symlinks unordered textconv filters path",
    ),
    "blame": verb(
        "|L: root show-stats show-name|f show-number|n porcelain|p line-porcelain show-email|e minimal abbrev:? |s |l "
        "|t |w |M:? |C:? |c date:= since:= reverse first-parent ignore-rev: color-lines color-by-age no-textconv",
        abbreviates=False,
        bundles=False,
        forced=("--no-textconv",),
    ),
    "grep": verb(
        "cached untracked exclude-standard! invert-match|v ignore-case|i word-regexp|w text|a no-textconv |I |r "
        "max-depth:# extended-regexp|E basic-regexp|G fixed-strings|F perl-regexp|P line-number|n column |h |H "
        "full-name files-with-matches|l name-only files-without-match|L null|z only-matching|o count|c color!:? break "
        "heading context|C:# before-context|B:# after-context|A:# show-function|p function-context|W |e: and or not "
        "quiet|q all-match max-count|m:#",
        "no-index index recurse-submodules recursive threads open-files-in-pager ext-grep",
        stops=True,
        forced=("--no-textconv",),
    ),
    "describe": verb(
        "contains debug all tags long first-parent abbrev:? exact-match candidates:# match: exclude: always dirty:? "
        "broken:?"
    ),
    "shortlog": verb(
        "committer|c numbered|n summary|s email|e group: since:= until:= author:= all no-merges max-count:=",
        abbreviates=False,
    ),
    "merge-base": verb("all|a octopus independent is-ancestor fork-point"),
    "show-ref": verb("tags heads verify head dereference|d hash|s:? abbrev:? quiet|q", "exclude-existing"),
    "for-each-ref": verb(
        _LISTED.replace("ignore-case|i", "ignore-case") + "count:# points-at:l", "shell perl python tcl"
    ),
    "check-ignore": verb("quiet|q verbose|v non-matching|n no-index", "stdin", paths=True),
    "count-objects": verb("verbose|v human-readable|H", most=0),
    "symbolic-ref": verb("quiet|q short recurse!", "delete", most=1),
    "config": verb(
        "list|l get get-all get-regexp null|z name-only show-origin show-scope bool int type: default: includes! local "
        "global system worktree",
        "file blob get-urlmatch replace-all add unset unset-all rename-section remove-section fixed-value edit "
        "get-color get-colorbool bool-or-int bool-or-str path expiry-date",
        most=2,
    ),
    "worktree list": verb("porcelain verbose|v |z", "expire", most=0),
    "remote": verb("verbose|v", most=0),
    "remote get-url": verb("push all", most=1),
    "version": verb("build-options", most=0),
}

SUBVERBS: dict[str, frozenset[str]] = {
    "stash": frozenset("push list show pop apply drop clear branch save create store export import".split()),
    "reflog": frozenset("show expire delete exists list drop".split()),
    "worktree": frozenset("add list lock move prune remove repair unlock".split()),
    "remote": frozenset("add rename rm remove set-head set-branches get-url set-url show prune update".split()),
}
"""git's own sub-verbs of these verbs; a word that is none belongs to the default one."""

DEFAULT_SUBVERBS = {"stash": "push", "reflog": "show", "remote": ""}

_NETWORK = "There is no network here; work with what the clone has."
WHY_NOT = {
    **dict.fromkeys(("fetch", "pull", "clone", "ls-remote", "submodule", "fetch-pack"), _NETWORK),
    "bisect": "Use git log and git checkout by hand.",
    "help": "`git VERB -h` prints a verb's usage.",
}
