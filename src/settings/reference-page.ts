/**
 * The reference page of settings, made from their tables. The committed page is compared with this
 * by a test, which also writes it:
 * `npx vitest run --update=all src/settings/reference-page.test.ts`.
 */
import { configFileSection } from './reference-config-file.ts'
import { describeDefault, flagOf, hasFile, hasFlag, type Option } from './option.ts'
import { optionGroups } from './options.ts'

export function referencePage(): string {
  const parts = [introduction]
  for (const { name, entries } of optionGroups) {
    parts.push(`## ${name}`, ...entries.map(([key, entry]) => section(key, entry)))
  }
  parts.push(configFileSection)
  return `${parts.map((part) => part.trim()).join('\n\n')}\n`
}

function section(key: string, entry: Option): string {
  const unit = entry.unit === null ? '' : ` (${entry.unit})`
  const places = hasFlag(entry)
    ? `- Flag \`${flagOf(key)}\`, config key \`${key}\``
    : '- A secret: only in the environment or a file'
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

<!-- Made from src/settings/options; a test compares them. -->

Holdfast looks for a setting in four places and takes the first that it finds: the flag, the
environment, \`holdfast.config.ts\`, the default.

- An invalid value is an error, wherever it is. It is never replaced by a default. Spaces around a
  value are ignored.
- An unknown flag, config key or \`HOLDFAST_…\` variable is an error, with a suggestion if a known
  name is near.
- All errors are reported at once.
- An empty \`HOLDFAST_…\` variable is an error.
- Names such as \`GITHUB_TOKEN\` are shared with other programs. So an empty one counts as not
  set, and a misspelt one is **not noticed**. The start shows whether Holdfast uses the real
  GitHub or a sandbox.

Secrets have no flag, because every user of a machine can read command lines, and no config key.
Any secret \`X\` can be given as \`X_FILE\`: the path of a file that contains it. A file that is
missing, unreadable or empty is an error, and so is setting both.

Holdfast uses the real GitHub (mode **live**) if it has credentials (\`GITHUB_TOKEN\`, or
\`GITHUB_APP_ID\` with \`GITHUB_PRIVATE_KEY\`) and \`GITHUB_WEBHOOK_SECRET\`. Otherwise it is a
**sandbox**: GitHub is simulated inside Holdfast, and nothing leaves the machine. A database stays
in the mode of its first start.
`
