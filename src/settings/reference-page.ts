/**
 * The reference page of settings, made from their table. The committed page is compared with this
 * by a test, which also writes it:
 * `npx vitest run --update=all src/settings/reference-page.test.ts`.
 */
import { configFileSection } from './reference-config-file.ts'
import { describeDefault, flagOf, hasFile, hasFlag, optionGroups, type Option } from './option.ts'
import { optionEntries } from './options.ts'

export function referencePage(): string {
  const parts = [introduction]
  for (const group of optionGroups) {
    parts.push(`## ${group}`)
    for (const [key, entry] of optionEntries) {
      if (entry.group === group) parts.push(section(key, entry))
    }
  }
  parts.push(configFileSection)
  return `${parts.map((part) => part.trim()).join('\n\n')}\n`
}

function section(key: string, entry: Option): string {
  const unit = entry.unit === null ? '' : ` (${entry.unit})`
  const places = hasFlag(entry)
    ? `- Flag \`${flagOf(key)}\`, config key \`${key}\``
    : '- A secret: environment or file only, no flag and no config key'
  const file = hasFile(entry) ? [`- As a file: \`${entry.env}_FILE\``] : []
  const plain = entry.defaultText === undefined && entry.default !== null
  const told = describeDefault(entry)
  return [
    `### \`${entry.env}\``,
    '',
    `${entry.summary}. ${entry.trade}`,
    '',
    places,
    ...file,
    `- Allowed: ${entry.kind.allowed}${unit}`,
    `- Default: ${plain ? `\`${told}\`` : told}`,
  ].join('\n')
}

const introduction = `
# Settings

<!-- Made from src/settings/options.ts; a test compares them. -->

A setting is taken from its flag, else from the environment, else from \`holdfast.config.ts\`, else
it has its default. A value that is wrong is an error wherever it stands and is never replaced by a
default; blanks around it do not count. An unknown flag, config key or \`HOLDFAST_…\` variable is an
error that names the nearest right one, where there is one. All errors are told at once. Only names
that begin with \`HOLDFAST_\` are checked so: the
environment's other names (\`GITHUB_…\`, \`SLACK_…\`) belong to other programs too, so a misspelt
one is not noticed. Whether the store is live or a sandbox is told at every start.

A secret has no flag, because everybody on a machine can read command lines, and no config key. Any
secret \`X\` can be given as \`X_FILE\`, the path of a file that holds it; a file that is missing,
unreadable or empty is an error, and so is giving both.

An empty \`HOLDFAST_…\` variable is an error. The other names are shared with other programs, so
there an empty one counts as not set.

Holdfast is **live** when it has credentials to act with (\`GITHUB_TOKEN\`, or \`GITHUB_APP_ID\`
with \`GITHUB_PRIVATE_KEY\`) and \`GITHUB_WEBHOOK_SECRET\`; else it is in **sandbox** mode, where a
simulated GitHub inside stands in for the real one. A store stays in the mode it began in.
`
