/**
 * What an event teaches about a repository: its numeric id, which outlives every rename.
 *
 *   name known, id unknown            the id is filled in
 *   id known, name new                a rename: one more name for the same repository
 *   name known under another id       the name was reused: it now means the other repository
 *   both known, as two rows           claims by a new name came before the rename was heard of:
 *                                     they are one repository, and its subjects are moved together
 *   older than what is known          nothing; a new id has a row, which the name does not mean
 */
import type { AuditDraft } from '../../domain/audit.ts'
import { learnName, type HeardAt } from '../../domain/repository-names.ts'
import { LostRace } from '../driver.ts'
import type { Verb } from '../sql.ts'
import { insertAudits } from '../tables/audit-table.ts'
import type { Repository } from '../tables/repository-table.ts'
import {
  fillInGithubId,
  giveName,
  insertRepository,
  lockName,
  lockRepository,
  repositoryByName,
  setName,
} from '../tables/repository-table.ts'
import type { VerbContext } from './context.ts'
import { mergeSubjects } from './merge-subjects.ts'

export interface Lesson {
  readonly name: string
  readonly githubId: number
  readonly at: HeardAt
  /** Who says so. */
  readonly actor: string
}

/** Hearing the same name again is written down no more often than that. */
const heardEveryMs = 60_000

/** Nearly always so, and asked without a lock. */
export function* isLearnt(context: VerbContext, { name, githubId, at }: Lesson): Verb<boolean> {
  const known = yield* repositoryByName(name)
  if (known?.githubId !== githubId) return false
  if (at === null) return true
  if (known.namedAt === null) return false
  if (known.name !== name) return at !== 'now' && at < known.namedAt
  return (at === 'now' ? context.now() : at) < known.namedAt + heardEveryMs
}

export function* learnRepository(context: VerbContext, lesson: Lesson): Verb<void> {
  const { name, githubId } = lesson
  const locked = yield* lockName(name)
  const own = yield* lockRepository(githubId)
  const holder = yield* repositoryByName(name)
  // Made between the two statements: when it was heard is not known here, so all is read again.
  if (locked === null && holder !== null) throw new LostRace('the name was told of meanwhile')
  const heardAt = locked?.heardAt ?? null
  const learnt = learnName(lesson, holder && { githubId: holder.githubId, heardAt }, own)
  const at =
    lesson.at === 'now' ? Math.max(context.now(), heardAt ?? 0, own?.namedAt ?? 0) : lesson.at
  if (learnt === 'nothing') {
    if (own === null) yield* makeNew(context, lesson, at, null)
    return
  }
  const byNameAlone = holder !== null && holder.githubId === null ? holder : null
  if (own === null) {
    const made =
      byNameAlone === null
        ? yield* makeNew(context, lesson, at, holder)
        : yield* identify(context, lesson, byNameAlone)
    yield* giveName(name, made.id, at, holder)
    yield* setName(made.id, name, at)
    return
  }
  yield* giveName(name, own.id, at, holder)
  if (learnt === 'current') {
    yield* setName(own.id, name, at ?? own.namedAt)
    const data = { repository: own.id, from: own.name, to: name }
    if (own.name !== name) yield* tell(context, lesson, 'repository.renamed', data)
  }
  if (byNameAlone !== null) yield* mergeSubjects(context, byNameAlone, own, lesson.actor)
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
