/**
 * Labels of a pull request or issue, one at a time. Holdfast never writes the whole set, because
 * people set labels too.
 *
 * What must hold: if a label that has to be removed is not there, nothing is left to do. If the
 * thread is not there, the removal failed. The names `.` and `..` are refused, because as part of a
 * path they would remove all labels.
 */
import { z } from 'zod'
import type { ChannelDeclaration, Content } from '../domain/outbox/channel-declaration.ts'
import type {
  Channel,
  LookRequest,
  Ownership,
  OwnershipClaim,
  Prepared,
  SendBy,
  LookResult,
  Written,
} from '../channel.ts'
import { isGitHubError } from '../github/errors.ts'
import { publicName } from './content-fields.ts'
import { onGitHub, publishForm, type ChannelWords } from './on-github.ts'
import type { ChannelParts, RepositoryTarget } from './parts.ts'
import { contentOf, eachPage, prepared, threadIsThere, threadOf } from './parts.ts'

/** In a path, these two mean a folder, also when they are encoded. */
const isLabelName = (label: string): boolean => !/^\.{1,2}$/.test(label.trim())

/** As a run sends it. */
const publish = publishForm({
  form: z.strictObject({
    label: publicName(50)
      .refine(isLabelName, 'must be a name other than . and ..')
      .describe('Its name.'),
    present: z.boolean().optional().describe('`false` removes it. Default: `true`.'),
  }),
  toStored: ({ label, present = true }): LabelContent => ({ label, present }),
  docs: { id: 'OwnLabel', title: 'Label' },
})

/** As the store keeps it. */
export const labelContent = z.object({
  label: z.string().min(1).refine(isLabelName, 'is no name that a label can have'),
  present: z.boolean(),
})
export type LabelContent = z.infer<typeof labelContent>

const ofThread = '/repos/{owner}/{repo}/issues/{issue_number}/labels'
const labelsForm = z.array(z.object({ name: z.string() }))

/** People set labels too. Setting a label twice changes nothing. */
const labelDeclaration = {
  ...onGitHub,
  name: 'github-label',
  kind: 'state',
  place: 'thread',
  replacedBy: 'set',
  keptCopy: null,
  looksFirst: false,
  inDoubt: { policy: 'confirm', looks: 1 },
  progressWritesMax: null,
  peopleCanRemove: true,
  notifiesPeople: false,
  givesBack: false,
  isAllowedByDefault: false,
  output: {
    targetOf: ({ run, repositoryId, content }) =>
      `label ${repositoryId} ${run.pr ?? 0} ${labelIn(content).toLowerCase()}`,
  },
  showsWork: () => false,
  titleOf: labelIn,
  rightFor: (content) => ({ kind: 'label', value: labelIn(content) }),
} as const satisfies ChannelDeclaration

function labelIn(content: Content): string {
  return String(content['label'])
}

export class LabelChannel implements Channel<RepositoryTarget> {
  static readonly declaration = labelDeclaration
  static readonly publish = publish
  static readonly words: ChannelWords = { noun: 'label', isQuoted: true, sentAs: 'set or removed' }
  readonly declaration = labelDeclaration
  readonly #parts: ChannelParts

  constructor(parts: ChannelParts) {
    this.#parts = parts
  }

  async prepare(target: RepositoryTarget, given: unknown): Promise<Prepared> {
    threadOf(target)
    return prepared({ ...contentOf(labelContent, given) })
  }

  async write(target: RepositoryTarget, { body }: Prepared, sendBy: SendBy): Promise<Written> {
    const { label, present } = body as unknown as LabelContent
    if (present) {
      const given = { issue_number: threadOf(target), labels: [label] }
      await this.#parts.github.call(target, z.unknown(), `POST ${ofThread}`, given, sendBy)
    } else {
      await this.#removeLabel(target, label, sendBy)
    }
    return { providerId: label, url: null }
  }

  /** It is found if the label is there, or if it has to be absent and is. */
  async look(
    { target, prepared: wanted }: LookRequest<RepositoryTarget>,
    sendBy: SendBy,
  ): Promise<LookResult> {
    const { label, present } = wanted.body as unknown as LabelContent
    const isThere = await this.#isThere(target, label, sendBy)
    const found = { providerId: label, url: null, current: isThere === present }
    return { found: isThere || !present ? [found] : [], unverified: false }
  }

  /** A label has no author. It is ours if it has the wanted name. */
  async ownershipOf(claim: OwnershipClaim<RepositoryTarget>, sendBy: SendBy): Promise<Ownership> {
    const { target, providerId, content } = claim
    if (!(await this.#isThere(target, providerId, sendBy))) return 'absent'
    const { label } = contentOf(labelContent, content)
    return label.toLowerCase() === providerId.toLowerCase() ? 'ours' : 'another'
  }

  placeIsThere(target: RepositoryTarget, sendBy: SendBy): Promise<boolean> {
    return threadIsThere(this.#parts.github, target, sendBy)
  }

  async #removeLabel(target: RepositoryTarget, label: string, sendBy: SendBy): Promise<void> {
    const given = { issue_number: threadOf(target), name: label }
    const route = `DELETE ${ofThread}/{name}`
    try {
      await this.#parts.github.call(target, z.unknown(), route, given, sendBy)
    } catch (error) {
      // GitHub answers 404 for a missing label and for a missing thread. The list shows which.
      if (!isGitHubError(error, 'not_found')) throw error
      if (await this.#isThere(target, label, sendBy)) throw error
    }
  }

  async #isThere(target: RepositoryTarget, label: string, sendBy: SendBy): Promise<boolean> {
    const { github } = this.#parts
    const place = { issue_number: threadOf(target) }
    const pages = eachPage(github, target, labelsForm, `GET ${ofThread}`, place, sendBy)
    for await (const page of pages) {
      if (page.some(({ name }) => name.toLowerCase() === label.toLowerCase())) return true
    }
    return false
  }
}
