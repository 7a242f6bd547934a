/**
 * What an event teaches about a repository: its numeric id, which outlives every rename.
 *
 *   name known, id unknown            the id is filled in
 *   id known, name new                a rename: one more name for the same repository
 *   name known under another id       the name was reused: it now means the other repository
 *   both known, as two rows           claims by a new name came before the rename was heard of:
 *                                     they are one repository, and its subjects are moved together
 *   older than what is known          nothing; a new id has a row, which the name does not mean
 *
 * A caller may be wrong, and take the id of a fork for it. Where GitHub itself said otherwise, a
 * caller is refused, unless what it tells may have happened since; and what only a caller has said
 * is noted, for whoever wants to write there.
 */
import type { AuditDraft } from '../../domain/audit.ts'
import { learnName, type HeardAt, type NameLesson } from '../../domain/repository-names.ts'
import { ConflictError } from '../../errors.ts'
import { LostRace } from '../driver.ts'
import type { Verb } from '../sql.ts'
import { insertAudits } from '../tables/audit-table.ts'
import type { Repository } from '../tables/repository-table.ts'
import {
  fillInGithubId,
  giveName,
  insertRepository,
  isToldName,
  lockName,
  lockRepository,
  noteToldName,
  repositoryByName,
  setName,
  vouchForName,
  wasCalled,
} from '../tables/repository-table.ts'
import type { VerbContext } from './context.ts'
import { mergeSubjects } from './merge-subjects.ts'

export interface Lesson {
  readonly name: string
  readonly githubId: number
  readonly at: HeardAt
  /** Who says so. */
  readonly actor: string
  /** A caller says so, and not GitHub. */
  readonly isTold: boolean
}

/** Hearing the same name again is written down no more often than that. */
const heardEveryMs = 60_000

/** Nearly always so, and asked without a lock. */
export function* isLearnt(context: VerbContext, lesson: Lesson): Verb<boolean> {
  const { name, githubId, at, isTold } = lesson
  const known = yield* repositoryByName(name)
  if (known?.githubId !== githubId) return false
  if (!isTold && (yield* isToldName(known.id, name))) return false
  if (at === null) return true
  if (known.namedAt === null) return false
  if (known.name !== name) return at !== 'now' && at < known.namedAt
  return (at === 'now' ? context.now() : at) < known.namedAt + heardEveryMs
}

export function* learnRepository(context: VerbContext, lesson: Lesson): Verb<void> {
  const { name, githubId, isTold } = lesson
  const locked = yield* lockName(name)
  const own = yield* lockRepository(githubId)
  const holder = yield* repositoryByName(name)
  // Made between the two statements: when it was heard is not known here, so all is read again.
  if (locked === null && holder !== null) throw new LostRace('the name was told of meanwhile')
  const heardAt = locked?.heardAt ?? null
  const learnt = learnName(lesson, holder && { githubId: holder.githubId, heardAt }, own)
  const isKnown = isTold && own !== null && (yield* isKnownAs(own, name, holder))
  if (isTold && !isKnown) yield* refuseMistake(lesson, learnt, holder, own)
  const at =
    lesson.at === 'now' ? Math.max(context.now(), heardAt ?? 0, own?.namedAt ?? 0) : lesson.at
  const meant = yield* teach(context, lesson, { learnt, at, own, holder })
  if (!isTold) yield* vouchForName(meant.id, name)
  else if (!isKnown) yield* noteToldName(meant.id, name)
}

/** It has the name, or had it: then it may still be claimed by it, late, and its id is right. */
function* isKnownAs(own: Repository, name: string, holder: Repository | null): Verb<boolean> {
  return holder?.id === own.id || (yield* wasCalled(own, name))
}

interface Known {
  readonly learnt: NameLesson
  readonly at: number | null
  readonly own: Repository | null
  readonly holder: Repository | null
}

/** Answers the repository that the lesson is about, which the name does not always mean. */
function* teach(
  context: VerbContext,
  lesson: Lesson,
  { learnt, at, own, holder }: Known,
): Verb<Repository> {
  const { name } = lesson
  if (learnt === 'nothing') return own ?? (yield* makeNew(context, lesson, at, null))
  const byNameAlone = holder !== null && holder.githubId === null ? holder : null
  if (own === null) {
    const made =
      byNameAlone === null
        ? yield* makeNew(context, lesson, at, holder)
        : yield* identify(context, lesson, byNameAlone)
    yield* giveName(name, made.id, at, holder)
    yield* setName(made.id, name, at)
    return made
  }
  yield* giveName(name, own.id, at, holder)
  if (learnt === 'current') {
    yield* setName(own.id, name, at ?? own.namedAt)
    const data = { repository: own.id, from: own.name, to: name }
    if (own.name !== name) yield* tell(context, lesson, 'repository.renamed', data)
  }
  if (byNameAlone !== null) yield* mergeSubjects(context, byNameAlone, own, lesson.actor)
  return own
}

/** A name may have been given away since GitHub told of it, but not to one that it calls else. */
function* refuseMistake(
  { name, githubId }: Lesson,
  learnt: NameLesson,
  holder: Repository | null,
  own: Repository | null,
): Verb<void> {
  if (holder === null || holder.githubId === null || holder.githubId === githubId) return
  if (own === null && learnt !== 'nothing') return
  if (yield* isToldName(holder.id, name)) return
  throw new ConflictError(
    'repo_id_mismatch',
    `repo_id ${githubId} is not ${name}, which is GitHub's repository ${holder.githubId}`,
    {
      hint:
        "Send repository.id of the event (pull_request.head.repo.id may be a fork's), or leave " +
        'repo_id out. After a rename or a transfer, send the event_at of an event since then.',
    },
  )
}

/** The old owner of its name, if there is one, keeps its subjects. */
function* makeNew(
  context: VerbContext,
  lesson: Lesson,
  namedAt: number | null,
  takenFrom: Repository | null,
): Verb<Repository> {
  const { name, githubId } = lesson
  const made = { id: context.newId('rep'), name, githubId, namedAt }
  yield* insertRepository(made, context.now())
  const taken = takenFrom !== null && { taken_from: takenFrom.id }
  const data = { name, github_id: githubId, ...taken }
  yield* tell(context, lesson, 'repository.identified', data)
  return made
}

function* identify(context: VerbContext, lesson: Lesson, known: Repository): Verb<Repository> {
  const { name, githubId } = lesson
  yield* fillInGithubId(known.id, githubId)
  yield* tell(context, lesson, 'repository.identified', { name, github_id: githubId })
  return known
}

function* tell(
  context: VerbContext,
  { actor }: Lesson,
  type: 'repository.identified' | 'repository.renamed',
  data: AuditDraft['data'],
): Verb<void> {
  yield* insertAudits([{ type, actor, runId: null, data }], context.now())
}
